"""Clopper and Pearson's interval, against its definition and against exact coverage."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.proportion import proportion_interval
from tests.support.properties import steady


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int]:
    of = draw(st.integers(0, 200))
    return draw(st.integers(0, of)), of


def chance(num: int, of: int, rate: float) -> float:
    return math.comb(of, num) * rate**num * (1.0 - rate) ** (of - num)


@steady
@given(counts(), st.sampled_from([0.8, 0.95, 0.99]))
def test_contains_the_share_seen_and_mirrors(count: tuple[int, int], confidence: float) -> None:
    num, of = count
    low, high = proportion_interval(num, of, confidence=confidence)
    assert 0.0 <= low <= (num / of if of else 0.5) <= high <= 1.0
    mirrored = proportion_interval(of - num, of, confidence=confidence)
    assert mirrored.low == pytest.approx(1.0 - high)
    assert mirrored.high == pytest.approx(1.0 - low)


@steady
@given(st.integers(1, 60).flatmap(lambda of: st.tuples(st.integers(1, of), st.just(of))))
def test_the_bounds_leave_the_tails_that_define_them(count: tuple[int, int]) -> None:
    num, of = count
    low, _ = proportion_interval(num, of, confidence=0.95)
    assert sum(chance(k, of, low) for k in range(num, of + 1)) == pytest.approx(0.025)


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("of", [1, 5, 20, 80])
def test_covers_every_rate_at_least_as_often_as_it_says(rate: float, of: int) -> None:
    bounds = [proportion_interval(num, of, confidence=0.95) for num in range(of + 1)]
    covered = sum(chance(num, of, rate) for num, (low, high) in enumerate(bounds) if low <= rate <= high)
    assert covered >= 0.95


def test_nothing_seen_leaves_everything_possible() -> None:
    assert proportion_interval(0, 0, confidence=0.95) == (0.0, 1.0)


@pytest.mark.parametrize(("num", "of"), [(3, 2), (-1, 4)])
def test_no_proportion(num: int, of: int) -> None:
    with pytest.raises(ValueError, match="is no proportion"):
        proportion_interval(num, of, confidence=0.95)
