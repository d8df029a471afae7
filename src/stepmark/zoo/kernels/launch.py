"""Launching a Triton kernel again without asking again what it was compiled for.

Triton binds, specialises and looks up every launch anew: 10 to 15 µs of host time, more than a small layer's
kernels take. A Launcher remembers the compiled kernel by what decides it: the caller's key, and for each
argument what Triton specialises on (pointers and integers divisible by 16, integers that are 1).
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any

import torch

from stepmark.zoo.kernels.backend import is_interpreted

KNOWN_TO_WORK = ("3.6",)
"""Versions of Triton whose compiled kernels take arguments as below; others are launched the plain way."""


class Launcher:
    """Launches one jit function. Its constants (tl.constexpr) come after all other arguments."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self._compiled: dict[Hashable, tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = {}

    def __call__(self, grid: tuple[int, int, int], *args: Any, key: Hashable = None, **options: Any) -> None:
        """`args` are tensors, ints and floats. `key` stands for their dtypes, the constants and the options:
        equal keys, equal in all of them."""
        if not _directly():
            self.function[grid](*args, **options)
            return
        device = torch._C._cuda_getDevice()
        place = (
            device,
            key,
            *[
                (one == 1) + 2 * (one % 16 == 0)
                if type(one) is int
                else type(one) is not float and one.data_ptr() % 16
                for one in args
            ],
        )
        known = self._compiled.get(place)
        if known is None:
            compiled = self.function[grid](*args, **options)
            self._compiled[place] = (
                compiled.run,
                (compiled.function, compiled.packed_metadata, None, None, None),
                _constants(self.function, options),
            )
            return
        run, handles, constants = known
        run(*grid, torch._C._cuda_getCurrentRawStream(device), *handles, *args, *constants)


def _constants(function: Any, options: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(options[name] for name in function.arg_names if name in options)


@cache
def _directly() -> bool:
    if is_interpreted():
        return False
    import triton

    return str(triton.__version__).startswith(tuple(f"{version}." for version in KNOWN_TO_WORK))
