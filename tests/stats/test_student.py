"""Student's interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray, Interval, pad
from stepmark.stats.student import FURTHEST, exponentiate, t_interval
from tests.support.properties import samples, steady

confidences = st.sampled_from([0.5, 0.9, 0.95, 0.99])


@steady
@given(samples(min_size=2), confidences)
def test_contains_its_point_in_the_middle(values: FloatArray, confidence: float) -> None:
    point, low, high = t_interval(values, confidence=confidence)
    assert low <= point <= high
    assert high - point == pytest.approx(point - low, abs=1e-6)


@steady
@given(samples(min_size=2))
def test_more_confidence_is_wider(values: FloatArray) -> None:
    narrow, wide = (t_interval(values, confidence=c) for c in (0.9, 0.99))
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


@steady
@given(st.lists(samples(), min_size=1, max_size=5))
def test_rows_are_independent(rows: list[FloatArray]) -> None:
    together = t_interval(pad(rows), confidence=0.95)
    apart = [t_interval(row, confidence=0.95) for row in rows]
    for edge in range(3):
        np.testing.assert_allclose(together[edge], [one[edge] for one in apart], rtol=1e-9, atol=1e-6)


def test_example_by_hand() -> None:
    # mean 3, s = sqrt(10/4), t(4, 0.975) = 2.776445
    interval = t_interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), confidence=0.95)
    assert interval.point == 3.0
    assert interval.high - 3.0 == pytest.approx(2.776445 * np.sqrt(2.5 / 5.0), rel=1e-6)


def test_one_value_says_nothing_about_its_spread() -> None:
    assert [*t_interval(np.array([2.0]), confidence=0.95)] == [2.0, -np.inf, np.inf]


def test_equal_values_have_no_width() -> None:
    assert [*t_interval(np.array([0.1, 0.1, 0.1]), confidence=0.95)] == [0.1, 0.1, 0.1]


def test_exponentiate_survives_the_end_of_the_numbers() -> None:
    interval = Interval(np.array(0.0), np.array(-1e4), np.array(1e4))
    assert [*exponentiate(interval)] == pytest.approx([1.0, np.exp(-FURTHEST), np.exp(FURTHEST)])


@steady
@given(st.floats(-FURTHEST, FURTHEST), st.floats(0.0, 1e4) | st.just(np.inf), st.floats(-40.0, 40.0))
def test_bounds_too_far_to_matter_are_finite_and_follow_their_point(
    point: float, half: float, unit: float
) -> None:
    """In another unit, and of the ratio the other way round."""

    def of(centre: float) -> Interval:
        return exponentiate(Interval(*map(np.array, (centre, centre - half, centre + half))))

    plain, scaled, inverse = of(point), of(point + unit), of(-point)
    assert 0.0 < plain.low <= plain.point <= plain.high < np.inf
    assert [*scaled] == pytest.approx([np.exp(unit) * edge for edge in plain], rel=1e-9)
    assert [1.0 / inverse.high, 1.0 / inverse.low] == pytest.approx([plain.low, plain.high], rel=1e-9)
    if half < FURTHEST:
        assert float(plain.high / plain.point) == pytest.approx(np.exp(half), rel=1e-9)
