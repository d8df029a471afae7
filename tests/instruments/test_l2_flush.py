"""Cold caches: a proof that holds, and one that does not."""

from __future__ import annotations

import gc

import pytest
import torch

from stepmark.errors import Unsupported
from stepmark.instruments import l2_flush
from stepmark.instruments.event_clock import EventInstrument
from stepmark.instruments.inspection import memory
from stepmark.instruments.inspection.memory import remember_import, remember_start, surroundings
from stepmark.instruments.l2_flush import FLUSHED, LEAST, flush_of, prove
from stepmark.instruments.torch_binding import cold
from stepmark.measure.program import Program
from stepmark.measure.sampler import take_block
from stepmark.records.evidence import CacheEvidence
from stepmark.records.sample import Layout

CUDA = torch.device("cuda")


def evidence(warm: float, cold: float) -> CacheEvidence:
    return CacheEvidence(
        cache_bytes=100,
        flushed_bytes=200,
        probe_bytes=25 << 20,
        warm_seconds=warm,
        cold_seconds=cold,
        flush_seconds=1e-5,
    )


@pytest.mark.parametrize(("seconds", "is_cold"), [(5e-6, False), (5e-6 * LEAST * 1.01, True)])
def test_nothing_is_measured_as_cold_that_was_not_seen_to_be(
    seconds: float, is_cold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Card:
        L2_cache_size = 1 << 20

    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Card)
    monkeypatch.setattr(l2_flush, "prove", lambda *_, **__: evidence(5e-6, seconds))
    make = flush_of.__wrapped__
    if is_cold:
        flush = make(torch.device("cpu"))
        assert flush.seconds == 1e-5
        flush.call()
    else:
        with pytest.raises(Unsupported, match="cannot be shown to be cold: a read of 25 MiB"):
            make(torch.device("cpu"))


def test_the_buffer_is_the_harness_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """120 MiB of it were called left over in an operation of 512 bytes on an H200."""

    class Card:
        L2_cache_size = 1 << 20

    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Card)
    monkeypatch.setattr(l2_flush, "prove", lambda *_, **__: evidence(5e-6, 5e-5))
    remember_start()
    try:
        remember_import()
        flush = flush_of.__wrapped__(torch.device("cpu"))
        assert surroundings([], []).foreign == 0
        assert flush.seconds > 0
    finally:
        gc.unfreeze()
        memory._start = memory._Start()


@pytest.mark.gpu
def test_a_flush_empties_the_cache() -> None:
    seen = flush_of(CUDA).evidence
    assert seen.flushed_bytes >= FLUSHED * seen.cache_bytes
    assert seen.cold_seconds >= LEAST * seen.warm_seconds


@pytest.mark.gpu
def test_what_does_not_flush_is_not_taken_for_a_flush() -> None:
    seen = prove(lambda: None, size=flush_of(CUDA).evidence.cache_bytes, flushed=0, device=CUDA)
    assert seen.cold_seconds < LEAST * seen.warm_seconds


@pytest.mark.gpu
def test_cold_reads_take_longer_and_the_flush_is_outside_the_clock() -> None:
    x = torch.randn(2 << 20, device=CUDA)
    warm = Program(layout=Layout(phases=("sum",), primary="sum"), calls=(x.sum,))
    chilled, clock = cold(warm, CUDA), EventInstrument("cuda")
    assert chilled.inspect is not None
    assert chilled.inspect().cache is not None
    blocks = [take_block(chilled, (20,), clock, lead_in=3) for _ in range(15)]
    fastest = min(block.nanoseconds[0] for block in blocks) / 20e9
    assert fastest < 0.8 * chilled.flush_seconds, "others may use the device meanwhile, but not all the time"
