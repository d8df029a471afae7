"""Pairing by round and launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.analysis.pairing import MIN_PAIRED_ROUNDS, Paired, least_rounds, pair
from stepmark.analysis.times import Times, read_times
from stepmark.stats.arrays import FloatArray, pad
from tests.support.properties import launches, steady
from tests.support.trials import FORWARD, OPS, make_lane

EVERY = range(1000)


def forward(by_launch: Mapping[int, Sequence[float]], *, rounds: Sequence[int] | None = None) -> Times:
    lanes = {
        number: make_lane("any", {"forward": seconds}, layout=FORWARD, rounds=rounds)
        for number, seconds in by_launch.items()
    }
    return read_times(lanes, FORWARD)


def times_of(rows: list[FloatArray], factor: float = 1.0) -> Times:
    return Times(
        layout=FORWARD,
        launches=tuple(range(len(rows))),
        phases=("forward",),
        seconds=factor * pad(rows)[None],
    )


def paired(case: Times, baseline: Times, *, min_rounds: int = 1) -> Paired:
    return pair(case, baseline, ("forward",), among=EVERY, min_rounds=min_rounds)


@steady
@given(launches(min_launches=1), st.floats(0.1, 10.0))
def test_a_constant_factor_is_found_in_every_round(rows: list[FloatArray], factor: float) -> None:
    result = paired(times_of(rows, factor), times_of(rows))
    assert result.launches == tuple(range(len(rows)))
    assert result.of("forward").tolist() == pytest.approx([np.log(factor)] * len(rows), abs=1e-9)
    assert np.nanmax(np.abs(result.logs - np.log(factor))) < 1e-9


@steady
@given(launches(min_launches=1), launches(min_launches=1))
def test_the_other_way_round_is_the_opposite(one: list[FloatArray], other: list[FloatArray]) -> None:
    there, back = paired(times_of(one), times_of(other)), paired(times_of(other), times_of(one))
    assert there.launches == back.launches
    np.testing.assert_allclose(there.centres, -back.centres, atol=1e-12)


@steady
@given(launches(min_launches=1), st.integers(1, 6))
def test_a_launch_counts_by_the_rounds_that_both_completed(rows: list[FloatArray], min_rounds: int) -> None:
    shorter = [row[: max(1, row.size - 2)] for row in rows]
    result = paired(times_of(rows), times_of(shorter), min_rounds=min_rounds)
    least = min(min_rounds, MIN_PAIRED_ROUNDS)
    assert result.launches == tuple(number for number, row in enumerate(shorter) if row.size >= least)


@steady
@given(launches(min_launches=1), st.sets(st.integers(0, 5)))
def test_only_the_launches_asked_for_are_paired(rows: list[FloatArray], among: set[int]) -> None:
    times = times_of(rows)
    result = pair(times, times, ("forward",), among=among, min_rounds=1)
    assert result.launches == tuple(number for number in range(len(rows)) if number in among)


def test_rounds_are_paired_by_number_not_by_position() -> None:
    case = forward({0: [2.0, 4.0], 1: [2.0, 4.0]}, rounds=[0, 2])
    baseline = forward({0: [1.0, 100.0, 2.0], 1: [1.0, 100.0, 2.0]})
    assert paired(case, baseline).of("forward").tolist() == pytest.approx([np.log(2.0)] * 2)


def test_launches_are_paired_by_number() -> None:
    case = forward({1: [2.0], 2: [4.0], 7: [9.0]})
    result = paired(case, forward({0: [5.0], 1: [1.0], 2: [2.0]}))
    assert result.launches == (1, 2)
    assert result.of("forward").tolist() == pytest.approx([np.log(2.0)] * 2)


def test_a_launch_with_too_few_paired_rounds_does_not_count() -> None:
    case = forward({0: [2.0] * 5, 1: [2.0] * 5, 2: [9.0, 9.0]})
    baseline = forward({0: [1.0] * 5, 1: [1.0] * 5, 2: [1.0] * 5})
    result = paired(case, baseline, min_rounds=3)
    assert result.launches == (0, 1)
    assert result.of("forward").tolist() == pytest.approx([np.log(2.0)] * 2)


def test_nothing_in_common_pairs_nothing() -> None:
    assert paired(forward({0: [1.0]}), forward({1: [1.0]})).launches == ()
    assert paired(forward({0: [1.0]}), forward({0: [1.0]}), min_rounds=2).launches == ()
    assert paired(forward({0: [1.0]}, rounds=[0]), forward({0: [1.0]}, rounds=[1])).launches == ()


def test_a_launch_counts_for_all_phases_or_for_none() -> None:
    seconds = {phase: [1e-3] * 4 for phase in OPS.phases}
    short = seconds | {"matmul": [1e-3, 1e-3, np.nan, np.nan]}
    times = Times(
        layout=OPS,
        launches=(0,),
        phases=OPS.phases,
        seconds=np.array([[short[phase]] for phase in OPS.phases]),
    )
    result = pair(times, times, OPS.phases, among=EVERY, min_rounds=3)
    assert (result.phases, result.launches, result.centres.shape) == (OPS.phases, (), (3, 0))


def test_one_disturbed_round_does_not_move_the_centre() -> None:
    case = forward({0: [2.0, 2.0, 2.0, 2.0, 900.0]})
    assert paired(case, forward({0: [1.0] * 5})).of("forward").tolist() == pytest.approx([np.log(2.0)])


def test_a_time_below_the_resolution_of_the_clock_does_no_harm() -> None:
    zeros = forward({0: [0.0, 0.0], 1: [0.0, 0.0]})
    assert paired(zeros, zeros).of("forward").tolist() == [0.0, 0.0]
    apart = paired(zeros, forward({0: [1.0, 1.0], 1: [1.0, 1.0]}))
    assert np.isfinite(apart.logs).all()
    assert (apart.centres < np.log(1e-9)).all()


@pytest.mark.parametrize(("asked", "least"), [(0, 1), (1, 1), (2, 2), (3, 3), (5, 3), (100, 3)])
def test_a_run_that_asks_for_fewer_rounds_is_content_with_those(asked: int, least: int) -> None:
    assert least_rounds(asked) == least
