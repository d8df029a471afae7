"""Random values that follow from a seed: few from the CPU's generator, many from their device's own.

Few are the same on every device. Many would take longer to draw than to use: one core draws 1 to 2 times 10^8
a second (AMD EPYC, torch 2.13, 2026-11-19), and an input of 131072 x 8192 numbers, with a gradient as large,
took the host of an H200 more than ten seconds for every lane of a launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch

MANY = 1 << 22
"""20 ms of a core."""
DRAWN = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
"""Dtypes that a device draws as they are: what is drawn in float32 and rounded needs memory for both."""


class RandomValues:
    """Draws tensors, each from other values than the one before."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generators: dict[torch.device, torch.Generator] = {}

    def normal(self, shape: Sequence[int], device: torch.device, dtype: torch.dtype) -> torch.Tensor:
        return self._drawn(torch.randn, shape, device, dtype)

    def uniform(self, shape: Sequence[int], device: torch.device, dtype: torch.dtype) -> torch.Tensor:
        return self._drawn(torch.rand, shape, device, dtype)

    def integers(
        self, low: int, high: int, shape: Sequence[int], device: torch.device, dtype: torch.dtype
    ) -> torch.Tensor:
        place = place_of(shape, device)
        drawn = torch.randint(low, high, tuple(shape), device=place, generator=self._generator(place))
        return drawn.to(device=device, dtype=dtype)

    def _drawn(
        self, draw: Any, shape: Sequence[int], device: torch.device, dtype: torch.dtype
    ) -> torch.Tensor:
        place = place_of(shape, device)
        drawn_in = dtype if place.type != "cpu" and dtype in DRAWN else torch.float32
        drawn: torch.Tensor = draw(
            tuple(shape), device=place, dtype=drawn_in, generator=self._generator(place)
        )
        return drawn.to(device=device, dtype=dtype)

    def _generator(self, place: torch.device) -> torch.Generator:
        if place not in self._generators:
            self._generators[place] = torch.Generator(place).manual_seed(self._seed)
        return self._generators[place]


def place_of(shape: Sequence[int], device: torch.device) -> torch.device:
    """Where so many values are drawn for a tensor of the device."""
    return device if prod(shape) > MANY else torch.device("cpu")
