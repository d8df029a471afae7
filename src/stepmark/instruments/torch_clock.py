"""Torch instruments: the CPU's clock, and the synchronised clock of an accelerator.

Timing model
------------
CPU: `time.perf_counter_ns`, about 50 ns a reading. Operators return when their work is done.
CUDA: events on the current stream, with the host's time beside them (event_clock.py).
Accelerators without events: the device is synchronised before each reading, so a phase includes the wait for
its own kernels and none of another's. Launch latency is inside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from stepmark.instruments.torch_flags import restore_flags, watched_flags


class TorchInstrument:
    """The CPU's clock with torch's global flags."""

    queues = False
    mark: Callable[[], Any] = staticmethod(time.perf_counter_ns)

    def begin(self) -> None:
        """Nothing is under way."""

    def nanoseconds(self, marks: Sequence[Any]) -> Sequence[int]:
        return marks

    def host_nanoseconds(self, marks: Sequence[Any]) -> Sequence[int]:
        return marks

    def flags(self) -> Mapping[str, str]:
        return watched_flags()

    def restore(self, flags: Mapping[str, str]) -> None:
        restore_flags(flags)


class SynchronisedInstrument(TorchInstrument):
    """A clock that waits for the accelerator before it is read."""

    def __init__(self, device: str) -> None:
        self._synchronise = partial(torch.get_device_module(device).synchronize, device)

    def begin(self) -> None:
        self._synchronise()

    def mark(self) -> int:
        self._synchronise()
        return time.perf_counter_ns()


def instrument_for(device: str) -> TorchInstrument:
    """The instrument that measures this device."""
    if device == "cpu":
        return TorchInstrument()
    if device.partition(":")[0] != "cuda":
        return SynchronisedInstrument(device)
    from stepmark.instruments.event_clock import EventInstrument

    return EventInstrument(device)
