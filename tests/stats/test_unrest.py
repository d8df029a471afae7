"""Unrest of a core: shares, gaps and their period, and how rarely chance passes for a period."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray
from stepmark.stats.unrest import MIN_GAPS, unrest
from tests.support.properties import samples, steady

SLICE = 0.0005


def edges(lost: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slices of half a millisecond that lose this much each."""
    ends = np.cumsum(SLICE + lost)
    return np.concatenate([[0.0], ends[:-1]]), ends


def gaps_at(moments: FloatArray, *, seconds: float = 2.0, length: float = 0.005) -> FloatArray:
    """What each slice loses where the core is taken away at these moments."""
    lost = np.zeros(round(seconds / SLICE))
    lost[np.unique((moments / SLICE).astype(int))] = length
    return lost


@steady
@given(samples(st.floats(0.0, 0.02), min_size=1, max_size=200))
def test_shares_are_ordered_and_gaps_are_counted(lost: FloatArray) -> None:
    seen = unrest(*edges(lost))
    assert 0.0 <= seen.very_slow <= seen.slow <= 1.0
    assert 0 <= seen.num_gaps <= lost.size
    assert (seen.longest_gap >= 0.001) == (seen.num_gaps > 0)
    assert seen.fastest == pytest.approx(SLICE + lost.min())


def test_a_core_of_ones_own() -> None:
    seen = unrest(*edges(np.full(1000, 1e-7)))
    assert (seen.slow, seen.very_slow, seen.num_gaps, seen.longest_gap, seen.period) == (0, 0, 0, 0, None)


def test_a_clock_at_half_speed_for_half_of_the_time_is_slow_and_no_gap() -> None:
    seen = unrest(*edges(np.repeat([0.0, SLICE], 500)))
    assert seen.slow == seen.very_slow == 0.5
    assert seen.num_gaps == 0


@pytest.mark.parametrize("period", [0.010, 0.020, 0.100])
def test_a_quota_is_periodic(period: float) -> None:
    lost = gaps_at(np.arange(period, 2.0 - 1e-6, period), length=period / 2)
    starts, ends = edges(lost)
    assert unrest(starts, ends).period == pytest.approx(period + period / 2, rel=0.05)


def test_a_period_survives_a_few_gaps_of_others() -> None:
    generator = np.random.default_rng(0)
    regular = np.arange(0.05, 1.999, 0.05)
    seen = unrest(*edges(gaps_at(np.concatenate([regular, generator.uniform(0.0, 1.999, 3)]), length=0.001)))
    assert seen.period == pytest.approx(0.051, rel=0.05)


def test_gaps_at_random_hardly_ever_pass_for_periodic() -> None:
    generator = np.random.default_rng(0)
    found = 0
    for _ in range(1000):
        number = int(generator.integers(MIN_GAPS, 60))
        found += unrest(*edges(gaps_at(generator.uniform(0.0, 1.999, number)))).period is not None
    assert found <= 5


def test_few_gaps_show_no_period() -> None:
    assert unrest(*edges(gaps_at(np.linspace(0.1, 0.7, MIN_GAPS - 1)))).period is None
