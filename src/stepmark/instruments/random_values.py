"""Random values that follow from a seed: few from the CPU's generator, many from their device's own.

Few are the same on every device. Many would take longer to draw than to use: one core draws 1 to 2 times 10^8
a second (AMD EPYC, torch 2.13, 2026-11-19), and a lane with an input and a gradient of 10^9 numbers together
took the host of an H200 five to ten seconds to build.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch

CPU = torch.device("cpu")
MANY = 1 << 22
"""20 ms of a core."""
AT_ONCE = 1 << 26
"""Values that a device draws at a time: 256 or 512 MiB, all the room that is taken beside the tensor's."""


class RandomValues:
    """Draws tensors, each from other values than the one before."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generators: dict[torch.device, torch.Generator] = {}

    def normal(self, shape: Sequence[int], device: torch.device, dtype: torch.dtype) -> torch.Tensor:
        return self._drawn(_normal, shape, device, dtype)

    def uniform(self, shape: Sequence[int], device: torch.device, dtype: torch.dtype) -> torch.Tensor:
        return self._drawn(_uniform, shape, device, dtype)

    def integers(
        self, low: int, high: int, shape: Sequence[int], device: torch.device, dtype: torch.dtype
    ) -> torch.Tensor:
        def draw(size: Sequence[int], **where: Any) -> torch.Tensor:
            return torch.randint(low, high, tuple(size), **where)

        return self._drawn(draw, shape, device, dtype)

    def _drawn(
        self,
        draw: Callable[..., torch.Tensor],
        shape: Sequence[int],
        device: torch.device,
        dtype: torch.dtype,
    ) -> torch.Tensor:
        """The same numbers whatever the dtype, but for its rounding."""
        place = place_of(shape, device)
        if place == CPU:
            return draw(shape, generator=self._generator(place)).to(device=device, dtype=dtype)
        values = torch.empty(tuple(shape), device=device, dtype=dtype)
        pieces: tuple[torch.Tensor, ...] = torch.split(values.view(-1), AT_ONCE)
        for piece in pieces:
            piece.copy_(draw(piece.shape, device=place, generator=self._generator(place)))
        return values

    def _generator(self, place: torch.device) -> torch.Generator:
        if place not in self._generators:
            self._generators[place] = torch.Generator(place).manual_seed(self._seed)
        return self._generators[place]


def place_of(shape: Sequence[int], device: torch.device) -> torch.device:
    """Where so many values are drawn for a tensor of the device."""
    return device if prod(shape) > MANY else CPU


def _normal(size: Sequence[int], **where: Any) -> torch.Tensor:
    return torch.randn(tuple(size), dtype=torch.float32, **where)


def _uniform(size: Sequence[int], **where: Any) -> torch.Tensor:
    return torch.rand(tuple(size), dtype=torch.float32, **where)
