"""The event clock of a CUDA device: moments of the device, and of the host that asked for them.

Timing model
------------
A mark is an event recorded on the current stream (the one that is current when the block begins) and the
host's time right after. `begin` waits for the device and records the block's first event, the origin of both
times; nothing is waited for until `nanoseconds`. A moment is the time between the origin and the event as the
device stamped them: launch latency is not in it, waiting for the host is.

Resolution: CUDA promises about 0.5 µs, an H200 counts in steps of 32 ns; torch gives milliseconds as float32,
exact to 8 ns in blocks of 100 ms. A mark takes the host 3.8 µs (17 µs with a new event on a stream that is
looked up), half of launching a kernel, and two adjacent ones are 1.3 µs apart on a device that has work: a
block has few of them (sampler.py). Measured by `python -m benchmarks.h200.clock`.

The lag of a mark is its device moment minus its host moment: how much longer after the origin the device came
by than the host. At the origin it is zero by construction, though the device really comes by one launch
latency later; so a lag near zero says: as soon as it could. Work that has queued up makes the lag grow. Both
clocks run freely; they drift by some millionths, less than a microsecond in a block.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch

from stepmark.instruments.torch_clock import TorchInstrument

Mark = tuple[Any, int]
"""An event, and the host's nanoseconds when it had been recorded."""


class EventInstrument(TorchInstrument):
    """Events from a pool that is used anew in every block."""

    queues = True

    def __init__(self, device: str) -> None:
        self._device = device
        self._pool: list[Any] = []
        self._used = 0
        self._stream: Any = None
        self._origin: Mark = (None, 0)

    def begin(self) -> None:
        torch.cuda.synchronize(self._device)
        self._used = 0
        self._stream = torch.cuda.current_stream(self._device)
        self._origin = self.mark()

    def mark(self) -> Mark:
        if self._used == len(self._pool):
            self._pool.append(torch.cuda.Event(enable_timing=True))  # type: ignore[no-untyped-call]
        event = self._pool[self._used]
        self._used += 1
        event.record(self._stream)
        return event, time.perf_counter_ns()

    def nanoseconds(self, marks: Sequence[Mark]) -> Sequence[int]:
        torch.cuda.synchronize(self._device)
        elapsed = self._origin[0].elapsed_time
        return [round(elapsed(event) * 1e6) for event, _ in marks]

    def host_nanoseconds(self, marks: Sequence[Mark]) -> Sequence[int]:
        origin = self._origin[1]
        return [moment - origin for _, moment in marks]
