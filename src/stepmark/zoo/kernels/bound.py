"""A kernel bound to the grid and the constants it was launched with: launched again by addresses alone.

Python around a launch takes as long as a small layer's kernels. Beyond what a Launcher spares, nothing is
looked up here, and scratch memory is not allocated anew. The caller sees to it that addresses and sizes are
as round as those of the first launch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from stepmark.zoo.kernels.launch import Launcher, _directly

ALIGNED = 15
"""Bits of an address that are nought where Triton compiled for multiples of 16."""


def is_direct() -> bool:
    """Whether this Triton's kernels can be bound."""
    return _directly()


class Bound:
    """Made by a launch."""

    def __init__(
        self,
        launcher: Launcher,
        grid: tuple[int, int, int],
        arguments: tuple[Any, ...],
        options: dict[str, Any],
    ) -> None:
        compiled = launcher.function[grid](*arguments, **options)
        launch, handles, constants = launcher._remember(compiled, options)
        self._launch, self._grid, self._handles, self._constants = launch, grid, handles, constants

    def in_stream(self, stream: int) -> tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]:
        """The launcher, and what it is given before and after the arguments."""
        return self._launch, (*self._grid, stream, *self._handles), self._constants


class _Scratch(threading.local):
    """Of one thread: two that share a stream might launch in turns."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int, int], tuple[torch.Tensor, int]] = {}


_scratch = _Scratch()


def scratch_address(number: int, device: int, stream: int) -> int:
    """So many float32 for kernels of this thread in this stream, where one call ends before the next begins.
    Not for a graph, which may run at the same time."""
    known = _scratch.known.get((number, device, stream))
    if known is None:
        memory = torch.empty(number, dtype=torch.float32, device=f"cuda:{device}")
        known = _scratch.known[number, device, stream] = (memory, memory.data_ptr())
    return known[1]
