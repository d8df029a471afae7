"""Torch's clocks."""

from __future__ import annotations

import time

import pytest
import torch

from stepmark.instruments.torch_clock import SynchronisedInstrument, TorchInstrument, instrument_for


def test_the_cpus_clock_counts_nanoseconds_forwards() -> None:
    instrument = instrument_for("cpu")
    assert type(instrument) is TorchInstrument
    marks = [instrument.mark() for _ in range(100)]
    assert list(instrument.nanoseconds(marks)) == marks == sorted(marks)


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_an_accelerator_is_waited_for_before_the_clock_is_read(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[object] = []
    monkeypatch.setattr(torch.cuda, "synchronize", log.append)

    def read() -> int:
        log.append("read")
        return 5

    monkeypatch.setattr(time, "perf_counter_ns", read)
    instrument = SynchronisedInstrument(device)
    instrument.begin()
    assert instrument.mark() == 5
    assert log == [device, device, "read"], "that very device, and not the one that happens to be current"
