"""Summaries of phases over launches."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.analysis.seeds import generator_for
from stepmark.analysis.summarize import summarize
from stepmark.analysis.times import REMAINDER, Times, read_times
from stepmark.records.estimate import Method, OutlierCounts, Summary
from stepmark.stats.arrays import FloatArray, pad
from stepmark.stats.quantile import MAD_TO_SD
from tests.support.properties import launches, steady
from tests.support.trials import FORWARD, TRAIN, make_lane


def forward_times(rows: list[FloatArray]) -> Times:
    seconds = pad(rows)[None]
    return Times(layout=FORWARD, launches=tuple(range(len(rows))), phases=("forward",), seconds=seconds)


def summary_of(times: Times, *, confidence: float = 0.95) -> Summary:
    summaries = summarize("case", times, confidence=confidence, generator=generator_for(0, "case"))
    return summaries[0]


def remainder_of(remainders: list[list[float]]) -> Summary:
    """A step of one forward phase and a remainder, launch by launch."""
    times = Times(
        layout=TRAIN,
        launches=tuple(range(len(remainders))),
        phases=(REMAINDER,),
        seconds=np.array([remainders]),
    )
    return summary_of(times)


@steady
@given(launches(min_launches=1))
def test_estimates_lie_inside_the_sample(rows: list[FloatArray]) -> None:
    summary = summary_of(forward_times(rows))
    smallest, largest = min(row.min() for row in rows), max(row.max() for row in rows)
    for estimate in (summary.median, summary.mean):
        assert smallest <= estimate.point * (1.0 + 1e-12)
        assert estimate.point <= largest * (1.0 + 1e-12)
        assert estimate.num_launches == len(rows)
    assert summary.minimum == smallest
    assert summary.num_blocks == sum(row.size for row in rows)
    assert 0 <= summary.outliers.total <= summary.num_blocks / 2


@steady
@given(launches(), st.randoms(use_true_random=False))
def test_the_order_of_launches_does_not_matter(rows: list[FloatArray], random: Random) -> None:
    shuffled = rows.copy()
    random.shuffle(shuffled)
    one, other = (summary_of(forward_times(r)) for r in (rows, shuffled))
    assert one.median.low == pytest.approx(other.median.low, rel=1e-6)
    assert one.mean.high == pytest.approx(other.mean.high, rel=1e-6)
    assert one.spread_between == pytest.approx(other.spread_between, rel=1e-6, abs=1e-12)
    assert one.outliers == other.outliers


def test_example_by_hand() -> None:
    rows = [np.array([1.0, 2.0, 9.0]), np.array([8.0, 8.0, 8.0, 8.0])]
    summary = summary_of(forward_times(rows))
    # medians 2 and 8: geometric mean 4, standard deviation of the logarithm sqrt(2) log 2
    assert summary.median.point == pytest.approx(4.0)
    assert summary.median.method is Method.T_LAUNCHES
    assert summary.spread_between == pytest.approx(np.sqrt(2.0) * np.log(2.0))
    # means 4 and 8
    assert summary.mean.point == pytest.approx(np.sqrt(32.0))
    # deviations 1 0 7 with median 1, over a median of 2; and 0; the median of the two
    assert summary.spread_within == pytest.approx(MAD_TO_SD * 0.25)
    assert (summary.minimum, summary.num_blocks) == (1.0, 7)


def test_outliers_are_found_inside_their_launch_and_summed() -> None:
    launch = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 18, 27, 5, 5])
    other = 100.0 + np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9])
    # quartiles 4 and 8 with 5 and 5 added: fences at 14 and 20
    counts = summary_of(forward_times([launch, other, launch])).outliers
    assert counts == OutlierCounts(high_mild=2, high_severe=2)


def test_one_launch_is_labelled_and_has_no_spread_between() -> None:
    summary = summary_of(forward_times([np.array([1.0, 2.0, 3.0, 4.0, 10.0])]))
    assert (summary.median.point, summary.mean.point) == (3.0, 4.0)
    assert {summary.median.method, summary.mean.method} == {Method.BOOTSTRAP_BLOCKS}
    assert 1.0 <= summary.median.low < 3.0 < summary.median.high <= 10.0
    assert summary.spread_between == 0.0


@pytest.mark.parametrize("num_launches", [1, 2, 5])
def test_equal_times_have_no_width(num_launches: int) -> None:
    summary = summary_of(forward_times([np.full(4, 0.1)] * num_launches))
    for estimate in (summary.median, summary.mean):
        assert estimate.low == pytest.approx(0.1)
        assert estimate.high == pytest.approx(0.1)
    assert (summary.spread_within, summary.spread_between) == (0.0, 0.0)


def test_remainder_is_averaged_as_a_difference() -> None:
    summary = remainder_of([[-1e-6, -1e-6], [0.0, 0.0], [4e-6, 4e-6]])
    assert summary.median.point == pytest.approx(1e-6)
    assert summary.median.low < 0.0 < summary.median.high
    assert summary.minimum == -1e-6
    # s = sqrt(7) over the mean of 1, in microseconds
    assert summary.spread_between == pytest.approx(np.sqrt(7.0))


@pytest.mark.parametrize("remainders", [[[0.0]], [[0.0, 0.0]] * 3, [[-1e-9, 1e-9]] * 2, [[-1e-9]]])
def test_remainder_around_nothing_does_no_harm(remainders: list[list[float]]) -> None:
    summary = remainder_of(remainders)
    assert np.isfinite([summary.median.low, summary.mean.high, summary.spread_within]).all()


def test_a_positive_remainder_has_no_logarithm_either() -> None:
    summary = remainder_of([[1e-9, 1e-9], [1e-5, 1e-5]])
    assert summary.median.point == pytest.approx((1e-9 + 1e-5) / 2)


def test_one_summary_per_phase_in_display_order() -> None:
    seconds = {phase: [1e-3] * 3 for phase in TRAIN.phases}
    times = read_times({0: make_lane("mine", seconds), 1: make_lane("mine", seconds)}, TRAIN)
    summaries = summarize("case", times, confidence=0.95, generator=generator_for(0))
    assert [summary.phase for summary in summaries] == [*TRAIN.phases, REMAINDER]
    assert {summary.case for summary in summaries} == {"case"}
