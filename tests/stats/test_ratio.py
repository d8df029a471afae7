"""The paired ratio over launches, and why launches are its unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray, Interval, pad
from stepmark.stats.quantile import median
from stepmark.stats.ratio import log_ratios, ratio_of_centres
from stepmark.stats.student import exponentiate, t_interval
from tests.support.properties import launches, steady

factors = st.floats(0.1, 10.0)


def ratio(case: list[FloatArray], baseline: list[FloatArray], confidence: float = 0.95) -> Interval:
    return ratio_of_centres(median(log_ratios(pad(case), pad(baseline))), confidence=confidence)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[FloatArray], list[FloatArray]]:
    """Two lanes with the same rounds."""
    case = draw(launches())
    noise = draw(st.lists(factors, min_size=len(case), max_size=len(case)))
    return case, [n * launch**1.01 for n, launch in zip(noise, case, strict=True)]


def assert_close(one: Interval, other: Interval) -> None:
    for a, b in zip(one, other, strict=True):
        assert a == pytest.approx(b, rel=1e-6)


@steady
@given(pairs())
def test_contains_its_point(lanes: tuple[list[FloatArray], list[FloatArray]]) -> None:
    point, low, high = ratio(*lanes)
    assert low <= point <= high


@steady
@given(pairs(), factors)
def test_a_slower_machine_changes_nothing(
    lanes: tuple[list[FloatArray], list[FloatArray]], slowdown: float
) -> None:
    case, baseline = lanes
    assert_close(ratio([slowdown * x for x in case], [slowdown * x for x in baseline]), ratio(*lanes))


@steady
@given(pairs(), factors)
def test_a_slower_case_multiplies_the_ratio(
    lanes: tuple[list[FloatArray], list[FloatArray]], slowdown: float
) -> None:
    case, baseline = lanes
    plain = ratio(case, baseline)
    assert_close(
        ratio([slowdown * x for x in case], baseline), Interval(*(slowdown * edge for edge in plain))
    )


@steady
@given(pairs())
def test_swapping_the_lanes_inverts_the_ratio(lanes: tuple[list[FloatArray], list[FloatArray]]) -> None:
    case, baseline = lanes
    point, low, high = ratio(case, baseline)
    assert_close(ratio(baseline, case), Interval(1.0 / point, 1.0 / high, 1.0 / low))


@steady
@given(pairs())
def test_the_order_of_launches_does_not_matter(lanes: tuple[list[FloatArray], list[FloatArray]]) -> None:
    case, baseline = lanes
    assert_close(ratio(case[::-1], baseline[::-1]), ratio(case, baseline))


@steady
@given(pairs())
def test_the_centres_of_launches_are_all_it_needs(lanes: tuple[list[FloatArray], list[FloatArray]]) -> None:
    logs = log_ratios(*(pad(lane) for lane in lanes))
    assert_close(ratio_of_centres(median(logs), confidence=0.95), ratio(*lanes))


@steady
@given(pairs(), st.floats(0.5, 0.98))
def test_a_look_with_less_of_alpha_is_wider(
    lanes: tuple[list[FloatArray], list[FloatArray]], confidence: float
) -> None:
    narrow, wide = ratio(*lanes, confidence=confidence), ratio(*lanes, confidence=0.999)
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


def test_a_round_that_one_lane_missed_is_not_paired() -> None:
    case = [np.array([2.0, 2.0]), np.array([2.0])]
    baseline = [np.array([1.0, 1.0, 50.0]), np.array([1.0])]
    assert ratio(case, [launch[: one.size] for launch, one in zip(baseline, case, strict=True)]).point == (
        pytest.approx(2.0)
    )
    padded = pad([*case, np.full(3, np.nan)])[:2]
    logs = log_ratios(padded, pad(baseline))
    assert ratio_of_centres(median(logs), confidence=0.95).point == pytest.approx(2.0)


def test_example_by_hand() -> None:
    # medians of the log2 ratios: 0, 1, 2; mean 1, s = 1, t(2, 0.975) = 4.302653
    case = [np.array([1.0, 1.0, 64.0]), np.array([2.0, 2.0, 2.0]), np.array([4.0, 4.0, 0.1])]
    interval = ratio(case, [np.ones(3)] * 3)
    assert np.log2(interval.point) == pytest.approx(1.0)
    assert np.log2(interval.high) == pytest.approx(1.0 + 4.302653 / np.sqrt(3.0))


def test_coverage_over_launches_is_nominal_and_pooling_is_not() -> None:
    """Identical code; every launch has an offset of its own, 0.4 %, and rounds scatter by 1 %."""
    generator = np.random.default_rng(20270115)
    num_trials, num_launches, num_rounds = 2000, 10, 40
    offsets = generator.normal(0.0, 0.004, (num_trials, num_launches, 1))
    logs = offsets + generator.normal(0.0, 0.01, (num_trials, num_launches, num_rounds))
    over_launches = ratio_of_centres(median(logs), confidence=0.95)
    pooled = exponentiate(t_interval(logs.reshape(num_trials, -1), confidence=0.95))
    covered, covered_pooled = (
        float(np.mean((i.low <= 1.0) & (i.high >= 1.0))) for i in (over_launches, pooled)
    )
    # The standard error of a share of 0.95 in 2000 trials is 0.005.
    assert 0.935 <= covered <= 0.965
    assert covered_pooled < 0.65
