"""Who waits for whom, told from lags."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.instruments.fake import FakeDevice
from stepmark.measure.sampler import take_block
from stepmark.stats.queueing import LATENCY, SHARE, waits_for_host
from tests.support.properties import steady

MICROSECOND = 1000


@pytest.mark.parametrize(
    ("lag", "total", "waits"),
    [
        (0.0, 1e-3, True),
        (LATENCY, 1e-5, True),
        (1.01 * LATENCY, 1e-5, False),
        (SHARE * 1e-2, 1e-2, True),
        (1.01 * SHARE * 1e-2, 1e-2, False),
        (-3e-6, 1e-3, True),
    ],
)
def test_a_lag_is_held_against_the_latency_and_the_time(lag: float, total: float, waits: bool) -> None:
    assert waits_for_host(np.full(5, lag), np.full(5, total)) is waits


@steady
@given(st.integers(1, 500), st.integers(1, 500), st.integers(20, 100), st.integers(0, 8))
def test_the_slower_side_of_a_queue_is_found(asks: int, works: int, calls: int, latency: int) -> None:
    """Unless both take about as long, or nothing takes long enough to tell from a latency."""
    device = FakeDevice(latency=latency * MICROSECOND)
    program = device.operations({"call": (asks * MICROSECOND, works * MICROSECOND)})
    block = take_block(program, (calls,), device, lead_in=2)
    waits = waits_for_host(np.array(block.lag) * 1e-9, np.array(block.nanoseconds) * 1e-9)
    if works > 1.1 * asks and calls * (works - asks) > 30:
        assert not waits
    if asks > 1.1 * works:
        assert waits
