"""The watch of a worker: torch's counts of compilations, and the memory in use, each in two microseconds.

Torch's compiler is asked only where it has been imported already. Memory is what the accelerator's allocator
has given out; on a CPU the process's resident pages that are not shared (the journal's are), from a file that
stays open.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Callable, Sequence

import torch

from stepmark.instruments.kernel_tuning import TUNING
from stepmark.instruments.torch_gauges import COMPILING, compiler_times, is_autotuning

Memory = Callable[[], int | None]


class TorchWatch:
    """The counters of this process."""

    def __init__(self, device: str) -> None:
        self.memory: Memory = ResidentMemory() if device == "cpu" else _device_memory(device)
        self._counted: tuple[Sequence[float], ...] = ()
        self._num_names = -1

    def compilations(self) -> int:
        """Pieces of work of torch's compiler so far, and kernels that were compiled, tuned or tried."""
        times = compiler_times()
        if len(times) != self._num_names:  # names only ever come, and rarely; their lists grow
            self._num_names = len(times)
            self._counted = tuple(
                each for name, each in times.items() if name in COMPILING or is_autotuning(name)
            )
        return sum(map(len, self._counted)) + TUNING.count()


class ResidentMemory:
    """Reads /proc/self/statm; None where that is missing, or a bench file closed it."""

    def __init__(self, path: str = "/proc/self/statm") -> None:
        self._file: int | None = None
        with contextlib.suppress(OSError):
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def __call__(self) -> int | None:
        if self._file is None:
            return None
        try:
            _, resident, shared, *_ = os.pread(self._file, 128, 0).split()
            return (int(resident) - int(shared)) * mmap.PAGESIZE
        except (OSError, ValueError):
            return None


def _device_memory(device: str) -> Memory:
    def allocated() -> int:
        # The flat form of these statistics takes ten times as long to make.
        stats = torch.cuda.memory.memory_stats_as_nested_dict(device)
        return int(stats["allocated_bytes"]["all"]["current"]) if stats else 0

    return allocated
