"""The device watch: memory of each phase, and work that it leaves on other streams.

On a CPU memory is counted by the storages that operations made; on an accelerator its allocator knows.
"""

from __future__ import annotations

import time

import torch

from stepmark.instruments.inspection.storages import Storages

STRAY = 100e-6
"""Seconds of waiting for the device after the current stream is done, in both iterations: work on another
stream. Of 5,000 waits for an idle H200 half took 11 µs, one in a thousand 36 µs, the longest 81 µs."""


def wait_for(device: torch.device) -> float:
    """Wait for the current stream, then for the whole device: how long the second wait took."""
    torch.cuda.current_stream(device).synchronize()
    begin = time.perf_counter()
    torch.cuda.synchronize(device)
    return time.perf_counter() - begin


class DeviceWatch:
    """Bytes above the level at the iteration's start."""

    def __init__(self, device: torch.device, storages: Storages) -> None:
        self._device = device
        self._storages = storages
        self._accelerated = device.type == "cuda"
        self.level = 0
        self._level_reserved = 0
        self.peak = 0
        self.reserved = 0
        self.live = 0
        self.waits: list[float] = []

    def begin_iteration(self) -> None:
        if self._accelerated:
            torch.cuda.synchronize(self._device)
            self.level = torch.cuda.memory_allocated(self._device)
            self._level_reserved = torch.cuda.memory_reserved(self._device)
        else:
            self.level = self._storages.live

    def begin_phase(self) -> None:
        if self._accelerated:
            torch.cuda.reset_peak_memory_stats(self._device)
        else:
            self._storages.peak = self._storages.live

    def end_phase(self) -> None:
        if self._accelerated:
            self.waits.append(wait_for(self._device))
            peak, live = (
                torch.cuda.max_memory_allocated(self._device),
                torch.cuda.memory_allocated(self._device),
            )
            self.reserved = max(0, torch.cuda.max_memory_reserved(self._device) - self._level_reserved)
        else:
            peak, live = self._storages.peak, self._storages.live
        self.peak, self.live = max(0, peak - self.level), max(0, live - self.level)
