"""Gauges of a worker: page faults, memory, modules, threads, compilation and the speed of the processor.

Torch's compiler is asked only where it has been imported already: asking must not import it.
"""

from __future__ import annotations

import mmap
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import psutil
import torch

from stepmark.records.warmup import Reading

COMPILING = ("_compile.compile_inner", "backward._backward_impl")
"""torch's names for compiling a frame, and for a backward pass that was put off to its first use."""
_AUTOTUNING = (
    "autotuning",
    "autotune",
    "benchmark_all_configs",
    "coordinate_descent_tuning",
    "benchmark_fused_nodes",
)
"""How torch's names for trying kernels end."""
_SPIN_STEPS = 2_000
"""About 50 µs of adding small numbers."""
_SPINS = 3
_WEIGHED_PAGES, _WEIGHINGS = 64, 9


class TorchGauges:
    """The gauges of this process."""

    def __init__(self, device: str) -> None:
        self._process = psutil.Process()
        self._accelerator = device if device != "cpu" else None
        self._known: set[str] = set(sys.modules)
        for _ in range(_SPINS):
            _spin()  # the interpreter specialises the loop in its first rounds

    def read(self) -> Reading:
        """About 0.2 ms, most of it the spin."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        spent = compiler_times()
        device_bytes, device_allocations = self._device_memory()
        return Reading(
            minor_faults=usage.ru_minflt,
            major_faults=usage.ru_majflt,
            resident_bytes=self._process.memory_info().rss,
            modules=len(sys.modules),
            threads=self._process.num_threads(),
            compilations=sum(len(spent.get(name, ())) for name in COMPILING),
            compile_seconds=sum(sum(spent.get(name, ())) for name in COMPILING),
            autotune_seconds=sum(sum(times) for name, times in spent.items() if is_autotuning(name)),
            device_bytes=device_bytes,
            device_allocations=device_allocations,
            spin_nanoseconds=min(_spin() for _ in range(_SPINS)),
        )

    def new_modules(self) -> tuple[str, ...]:
        """Packages of which modules were imported since the last call."""
        new = sys.modules.keys() - self._known
        self._known |= new
        return tuple(sorted({name.partition(".")[0] for name in new}))

    def seconds_per_fault(self) -> float:
        """Touch fresh pages, one by one: a fault and the kernel's zeroing of a page, the touch included."""
        return median(_touch_fresh_pages() for _ in range(_WEIGHINGS)) / _WEIGHED_PAGES

    def _device_memory(self) -> tuple[int, int]:
        if self._accelerator is None:
            return 0, 0
        stats = torch.cuda.memory_stats(self._accelerator)
        return stats.get("reserved_bytes.all.current", 0), stats.get("num_device_alloc", 0)


def is_autotuning(name: str) -> bool:
    """Whether torch's name for a piece of work means trying kernels."""
    return name.endswith(_AUTOTUNING)


def compiler_times() -> Mapping[str, Sequence[float]]:
    """Seconds of each piece of work of torch's compiler, by torch's own names."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    times: Mapping[str, Sequence[float]] = getattr(utils, "compilation_time_metrics", {})
    return times


def _touch_fresh_pages() -> float:
    size = _WEIGHED_PAGES * mmap.PAGESIZE
    with mmap.mmap(-1, size) as pages:
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            pages.madvise(mmap.MADV_NOHUGEPAGE)
        begin = time.perf_counter()
        for place in range(0, size, mmap.PAGESIZE):
            pages[place] = 1
        return time.perf_counter() - begin


def _spin() -> int:
    begin = time.perf_counter_ns()
    total = 0
    for step in range(_SPIN_STEPS):
        total += step
    return time.perf_counter_ns() - begin
