"""The level of a time over launches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray
from stepmark.stats.level import level, relative_spread
from stepmark.stats.student import t_interval
from tests.support.properties import samples, steady, times


@steady
@given(samples(times, min_size=2), st.floats(0.01, 100.0))
def test_scales_with_the_unit(centres: FloatArray, unit: float) -> None:
    plain, scaled = (level(c, confidence=0.95) for c in (centres, unit * centres))
    for before, after in zip(plain, scaled, strict=True):
        assert after == pytest.approx(unit * before, rel=1e-6)


@steady
@given(samples(times, min_size=2))
def test_point_is_the_geometric_mean_inside_its_bounds(centres: FloatArray) -> None:
    point, low, high = level(centres, confidence=0.95)
    assert low <= point <= high
    assert point == pytest.approx(np.exp(np.log(centres).mean()), rel=1e-9)


@steady
@given(samples(min_size=2))
def test_never_fails_on_differences(centres: FloatArray) -> None:
    point, low, high = level(centres, confidence=0.95, additive=True)
    assert low <= point <= high
    assert (point, low, high) == t_interval(centres, confidence=0.95)


@steady
@given(samples(min_size=1), st.booleans())
def test_bounds_are_numbers_that_can_be_written(centres: FloatArray, additive: bool) -> None:
    """Also of a row with a single launch among others, whose spread nobody knows."""
    rows = np.stack([centres, np.where(np.arange(centres.size) > 0, np.nan, centres)])
    point, low, high = level(rows, confidence=0.95, additive=additive)
    assert np.isfinite([low, high]).all()
    assert (low <= point).all()
    assert (point <= high).all()
    assert low[1] < point[1] < high[1]


def test_a_centre_of_zero_is_averaged_without_logarithm() -> None:
    rows = np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 4.0]])
    interval = level(rows, confidence=0.95)
    assert interval.point.tolist() == [1.0, pytest.approx(2.0)]
    assert interval.low[0] == t_interval(rows[0], confidence=0.95).low


def test_example_by_hand() -> None:
    # logarithms 0 and 2 log 2: mean log 2, s = sqrt(2) log 2, t(1, 0.975) = 12.7062, half = 12.7062 log 2
    interval = level(np.array([1.0, 4.0]), confidence=0.95)
    assert interval.point == pytest.approx(2.0)
    assert np.log2(interval.high) == pytest.approx(1.0 + 12.7062, rel=1e-4)


@steady
@given(samples(times, min_size=2), st.floats(0.01, 100.0))
def test_spread_does_not_depend_on_the_unit(centres: FloatArray, unit: float) -> None:
    for additive in (False, True):
        spread, scaled = (relative_spread(c, additive=additive) for c in (centres, unit * centres))
        assert scaled == pytest.approx(spread, rel=1e-6, abs=1e-9)


def test_spread_by_hand() -> None:
    rows = np.array([[1.0, 4.0], [-1.0, 3.0], [-1.0, 1.0], [2.0, np.nan]])
    # log 4 / sqrt 2; 4 / sqrt 2 over a mean of 1; a mean of 0; a single launch
    assert relative_spread(rows) == pytest.approx([np.log(4.0) / np.sqrt(2.0), np.sqrt(8.0), 0.0, 0.0])
