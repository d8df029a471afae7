"""Pairing by round and launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.analysis.compare import compare
from stepmark.analysis.seeds import generator_for
from stepmark.analysis.times import Times, read_times
from stepmark.records.estimate import Estimate, Method
from stepmark.stats.arrays import FloatArray, pad
from tests.support.properties import launches, steady
from tests.support.trials import FORWARD, make_lane


def forward(by_launch: Mapping[int, Sequence[float]], *, rounds: Sequence[int] | None = None) -> Times:
    lanes = {
        number: make_lane("any", {"forward": seconds}, layout=FORWARD, rounds=rounds)
        for number, seconds in by_launch.items()
    }
    return read_times(lanes, FORWARD)


def ratio(case: Times, baseline: Times, *, min_rounds: int = 1) -> Estimate | None:
    ratios = compare(
        case,
        baseline,
        ("forward",),
        min_rounds=min_rounds,
        confidence=0.95,
        generator=generator_for(0),
    )
    return ratios.get("forward")


def point(case: Times, baseline: Times, *, min_rounds: int = 1) -> float:
    estimate = ratio(case, baseline, min_rounds=min_rounds)
    assert estimate is not None
    return estimate.point


@steady
@given(launches(min_launches=1), st.floats(0.1, 10.0))
def test_a_constant_factor_is_found_exactly(rows: list[FloatArray], factor: float) -> None:
    seconds = pad(rows)[None]
    baseline = Times(layout=FORWARD, launches=tuple(range(len(rows))), phases=("forward",), seconds=seconds)
    case = Times(layout=FORWARD, launches=baseline.launches, phases=baseline.phases, seconds=factor * seconds)
    estimate = ratio(case, baseline)
    assert estimate is not None
    assert [estimate.low, estimate.point, estimate.high] == pytest.approx([factor] * 3, rel=1e-6)


def test_rounds_are_paired_by_number_not_by_position() -> None:
    case = forward({0: [2.0, 4.0], 1: [2.0, 4.0]}, rounds=[0, 2])
    baseline = forward({0: [1.0, 100.0, 2.0], 1: [1.0, 100.0, 2.0]})
    assert point(case, baseline) == pytest.approx(2.0)


def test_launches_are_paired_by_number() -> None:
    case = forward({1: [2.0], 2: [4.0], 7: [9.0]})
    baseline = forward({0: [5.0], 1: [1.0], 2: [2.0]})
    estimate = ratio(case, baseline)
    assert estimate is not None
    assert estimate.point == pytest.approx(2.0)
    assert estimate.num_launches == 2


def test_a_launch_with_too_few_paired_rounds_does_not_count() -> None:
    case = forward({0: [2.0] * 5, 1: [2.0] * 5, 2: [9.0, 9.0]})
    baseline = forward({0: [1.0] * 5, 1: [1.0] * 5, 2: [1.0] * 5})
    estimate = ratio(case, baseline, min_rounds=3)
    assert estimate is not None
    assert estimate.point == pytest.approx(2.0)
    assert estimate.num_launches == 2


def test_nothing_in_common_gives_no_ratio() -> None:
    assert ratio(forward({0: [1.0]}), forward({1: [1.0]})) is None
    assert ratio(forward({0: [1.0]}), forward({0: [1.0]}), min_rounds=2) is None
    assert ratio(forward({0: [1.0]}, rounds=[0]), forward({0: [1.0]}, rounds=[1])) is None


def test_one_launch_is_resampled_over_its_rounds() -> None:
    case = forward({0: [1.0, 2.0, 3.0, 4.0, 5.0]})
    estimate = ratio(case, forward({0: [1.0] * 5}))
    assert estimate is not None
    assert (estimate.method, estimate.num_launches) == (Method.BOOTSTRAP_BLOCKS, 1)
    assert 1.0 <= estimate.low < estimate.point < estimate.high <= 5.0


def test_the_only_launch_that_counts_is_resampled() -> None:
    case = forward({0: [2.0] * 5, 1: [9.0]})
    estimate = ratio(case, forward({0: [1.0] * 5, 1: [1.0]}), min_rounds=3)
    assert estimate is not None
    assert (estimate.method, estimate.num_launches) == (Method.BOOTSTRAP_BLOCKS, 1)
    assert estimate.high == pytest.approx(2.0)


def test_a_time_below_the_resolution_of_the_clock_does_no_harm() -> None:
    zeros = forward({0: [0.0, 0.0], 1: [0.0, 0.0]})
    assert point(zeros, zeros) == 1.0
    estimate = ratio(zeros, forward({0: [1.0, 1.0], 1: [1.0, 1.0]}))
    assert estimate is not None
    assert 0.0 < estimate.point < 1e-9


def test_no_phase_no_ratio() -> None:
    times = forward({0: [1.0]})
    assert compare(times, times, (), min_rounds=1, confidence=0.95, generator=np.random.default_rng(0)) == {}
