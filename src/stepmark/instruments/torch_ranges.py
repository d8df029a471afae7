"""NVTX ranges: phases named for Nsight Systems and Nsight Compute, where torch has a CUDA device.

A range ends when the device has done the phase's work. The ranges are the process's (start and end), not a
thread's (push and pop): a backward pass launches its kernels from a thread of autograd's own, which no range
pushed by this one would cover.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.cuda import nvtx

from stepmark.measure.profiler import around_phases
from stepmark.measure.program import Call, Program


def can_emit(device: str) -> bool:
    """Whether ranges reach anybody from here."""
    return device != "cpu" and torch.cuda.is_available()


def with_ranges(program: Program, device: str) -> Program:
    """With an NVTX range around every phase; the program itself where there is no device to have them."""
    if not can_emit(device):
        return program
    synchronise = partial(torch.cuda.synchronize, device)
    return around_phases(program, lambda name, call: partial(_ranged, name, call, synchronise))


def _ranged(name: str, call: Call, synchronise: Call) -> None:
    handle = nvtx.range_start(name)
    try:
        call()
        synchronise()
    finally:
        nvtx.range_end(handle)


@contextmanager
def captured_range(device: str) -> Iterator[None]:
    """What Nsight waits for when it is told to begin by cudaProfilerApi: the warm-up stays out."""
    if not can_emit(device):
        yield
        return
    torch.cuda.synchronize(device)
    profiler: Any = torch.cuda.profiler
    profiler.start()
    try:
        yield
        torch.cuda.synchronize(device)
    finally:
        profiler.stop()
