"""Launching a Triton kernel again without asking again what it was compiled for.

Triton binds, specialises and looks up every launch anew: 10 to 15 µs of host time, more than a small layer's
kernels take. A Launcher remembers the compiled kernel by what decides it: the caller's key, and for each
argument what Triton specialises on (pointers and integers divisible by 16, integers that are 1).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from itertools import count
from types import BuiltinFunctionType
from typing import Any

import torch

from stepmark.zoo.kernels.backend import is_interpreted

KNOWN_TO_WORK = ("3.6",)
"""Versions of Triton whose compiled kernels take arguments as below; others are launched the plain way."""
PLAIN = (int, float, type(None))
"""Arguments that are surely no tensors: asking costs more."""


Known = tuple[Any, tuple[Any, ...], tuple[Any, ...]]
"""A compiled kernel: what launches it, and what that is given before and after the arguments."""


MOST_PROGRAMS = 65535
"""Along the second and the third side of a grid; the first holds 2^31."""


def is_launchable(grid: tuple[int, int, int]) -> bool:
    return max(grid[1:]) <= MOST_PROGRAMS


def is_elsewhere(tensor: torch.Tensor) -> bool:
    """Whether it lies on another GPU than the current one."""
    device = tensor.get_device()
    return device >= 0 and device != torch._C._cuda_getDevice()


class Launcher:
    """Launches one jit function. Its constants (tl.constexpr) come after all other arguments."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self._known: dict[Hashable, Known] = {}

    def __call__(self, grid: tuple[int, int, int], *args: Any, key: Hashable = None, **options: Any) -> None:
        """On the device of the first of `args`: tensors and their descriptors, then or between them ints,
        floats and None. `key` stands for their dtypes, the constants and the options: equal keys, equal in
        all of them."""
        first = args[0] if isinstance(args[0], torch.Tensor) else args[0].base
        if is_elsewhere(first):
            with torch.cuda.device(first.device):
                self(grid, *args, key=key, **options)
            return
        if not _directly():
            self.function[grid](*args, **options)
            return
        device = torch._C._cuda_getDevice()
        # An address spares the launcher a driver's question for each tensor.
        values = [
            one if type(one) in PLAIN or not isinstance(one, torch.Tensor) else one.data_ptr() for one in args
        ]
        known = self.known(device, key, values)
        if known is None:
            place = _place(device, key, values)
            self._known[place] = self._remember(self.function[grid](*args, **options), options)
            return
        launch, handles, constants = known
        launch(*grid, torch._C._cuda_getCurrentRawStream(device), *handles, *values, *constants)

    def known(self, device: int, key: Hashable, values: Sequence[Any]) -> Known | None:
        """What was launched with arguments like these, addresses for tensors."""
        return self._known.get(_place(device, key, values))

    def _remember(self, compiled: Any, options: dict[str, Any]) -> Known:
        """Triton's own launcher in C, or, where a kernel needs scratch memory, the Python around it."""
        run = compiled.run
        constants = tuple(options[name] for name in self.function.arg_names if name in options)
        unhooked = (compiled.packed_metadata, None, None, None)
        if (
            run.global_scratch_size
            or run.profile_scratch_size
            or not isinstance(run.launch, BuiltinFunctionType)
        ):
            return run, (compiled.function, *unhooked), constants
        flags = (run.launch_cooperative_grid, run.launch_pdl)
        return run.launch, (compiled.function, *flags, None, None, *unhooked), constants


def _place(device: int, key: Hashable, values: Sequence[Any]) -> Hashable:
    return (
        device,
        key,
        *[(one == 1) + 2 * (one % 16 == 0) if type(one) is int else one is None for one in values],
    )


_keys: dict[tuple[Any, ...], int] = {}
_numbers = count()
"""Not how many keys there are: two threads would give two kernels one."""


def key_of(configuration: tuple[Any, ...]) -> int:
    """A short name for what is compiled: hashing the whole takes a microsecond of every launch."""
    return _keys.setdefault(configuration, next(_numbers))


def dependent_launch() -> dict[str, Any]:
    """Options of a kernel that may begin while the one before it ends, as from Hopper on it can."""
    return {"PDL": True, "launch_pdl": True} if _has_dependent_launch() else {"PDL": False}


@cache
def _has_dependent_launch() -> bool:
    return torch.cuda.is_available() and torch.cuda.get_device_capability() >= (9, 0)


@cache
def _directly() -> bool:
    if is_interpreted():
        return False
    import triton

    return str(triton.__version__).startswith(tuple(f"{version}." for version in KNOWN_TO_WORK))
