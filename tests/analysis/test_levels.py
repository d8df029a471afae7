"""How much of a ratio's spread is calls, blocks, rounds and launches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.judge import judge
from stepmark.analysis.levels import LEAST_CALLS, spread_of
from stepmark.analysis.pairing import Paired
from stepmark.analysis.trials import CaseTrials
from stepmark.records.sample import Layout, Sample, pack
from stepmark.records.spread import Level, Spread
from stepmark.stats.arrays import FloatArray, pad
from stepmark.stats.quantile import median
from tests.support.properties import samples, steady
from tests.support.recordings import Noise, make_recording, make_run
from tests.support.trials import FORWARD, OPS, make_solo

CASE = make_run().cases[1]
rounds_of_launches = st.lists(samples(st.floats(-0.5, 0.5), min_size=2, max_size=12), min_size=2, max_size=6)


def paired(rows: list[FloatArray], phase: str = "forward") -> Paired:
    logs = pad(rows)[None]
    return Paired(phases=(phase,), launches=tuple(range(len(rows))), logs=logs, centres=median(logs))


def trials(calls: dict[str, list[int]] | None = None, *, layout: Layout = FORWARD) -> CaseTrials:
    """A case whose solo pass took these nanoseconds, call by call."""
    solo = make_solo(CASE, layout=layout)
    found = [
        Sample(phase=phase, iterations=1, nanoseconds=pack(values)) for phase, values in (calls or {}).items()
    ]
    return CaseTrials(case=CASE, solo=replace(solo, samples=tuple(found)))


def spread(rows: list[FloatArray], of: CaseTrials | None = None) -> Spread:
    found = spread_of(of or trials(), paired(rows), "forward", block=0.01)
    assert found is not None
    return found


@steady
@given(rounds_of_launches)
def test_every_level_has_a_spread_of_its_own(rows: list[FloatArray]) -> None:
    found = spread(rows)
    assert (found.call, found.block) == (None, 0.01)
    for part in (found.round, found.centre, found.launch):
        assert 0.0 <= part < math.inf
    centres = [float(np.median(row)) for row in rows]
    assert found.launch <= float(np.std(centres, ddof=1)) + 1e-12


@steady
@given(rounds_of_launches, st.floats(-2.0, 2.0))
def test_the_ratio_itself_does_not_matter(rows: list[FloatArray], shift: float) -> None:
    plain, moved = spread(rows), spread([row + shift for row in rows])
    assert (moved.round, moved.centre, moved.launch) == pytest.approx(
        (plain.round, plain.centre, plain.launch), rel=1e-6, abs=1e-7
    )


@steady
@given(rounds_of_launches)
def test_the_larger_of_the_two_dominates(rows: list[FloatArray]) -> None:
    found = spread(rows)
    assert found.dominant is (Level.ROUND if found.centre >= found.launch else Level.LAUNCH)


@pytest.mark.parametrize(
    ("noise", "level"),
    [
        (Noise(process=0.05, instance=0.0, round=0.02), Level.ROUND),
        (Noise(process=0.05, instance=0.02, round=0.002), Level.LAUNCH),
    ],
)
def test_a_run_knows_which_level_dominates(noise: Noise, level: Level) -> None:
    mine = judge(make_recording(num_launches=20, layout=FORWARD, noise=noise)).cases[1]
    assert mine.spread is not None
    assert mine.spread.dominant is level


def test_the_parts_of_a_known_machine_are_found() -> None:
    """Two lanes: the ratio has twice the variance of one, in rounds and in instances."""
    recording = make_recording(
        num_launches=200, num_rounds=30, layout=FORWARD, noise=Noise(process=0.1, instance=0.01, round=0.02)
    )
    found = judge(recording).cases[1].spread
    assert found is not None
    assert found.block == pytest.approx(0.02, rel=0.1)
    assert found.round == pytest.approx(0.02 * math.sqrt(2.0), rel=0.1)
    assert found.launch == pytest.approx(0.01 * math.sqrt(2.0), rel=0.2)


def test_one_launch_has_no_spread_between() -> None:
    assert spread_of(trials(), paired([np.zeros(5)]), "forward", block=0.0) is None


def test_a_phase_that_is_not_paired_has_no_spread() -> None:
    assert spread_of(trials(), paired([np.zeros(5)] * 3, "backward"), "forward", block=0.0) is None


def test_the_baseline_has_no_ratio_and_no_spread() -> None:
    baseline, mine = judge(make_recording(num_launches=3)).cases
    assert baseline.spread is None
    assert mine.spread is not None


def test_launches_of_a_single_round_do_no_harm() -> None:
    found = spread_of(trials(), paired([np.array([0.1]), np.array([0.2])]), "forward", block=0.0)
    assert found is None or math.isfinite(found.centre)


def test_calls_are_those_of_the_later_half_of_the_solo_pass() -> None:
    warming = [900, 500, 300, 200]
    steady_calls = [100, 102, 98, 100]
    found = spread([np.zeros(3)] * 2, trials({"forward": warming + steady_calls}))
    # deviations 0 2 2 0 from 100: their median is 1
    assert found.call == pytest.approx(1.4826 * 0.01, rel=1e-4)


def test_too_few_calls_have_no_spread() -> None:
    few = [100, 200] * (LEAST_CALLS // 2)
    assert spread([np.zeros(3)] * 2, trials({"forward": few})).call is not None
    assert spread([np.zeros(3)] * 2, trials({"forward": few[:-1]})).call is None
    assert spread([np.zeros(3)] * 2, trials()).call is None
    assert spread([np.zeros(3)] * 2, CaseTrials(case=CASE)).call is None


def test_a_total_is_the_sum_of_its_parts_call_by_call() -> None:
    up, down = [100, 200] * 8, [200, 100] * 8
    whole = trials({"quantize": up, "matmul": down, "dequantize": [50] * 16}, layout=OPS)
    rows = paired([np.zeros(3)] * 2, "total")
    found = spread_of(whole, rows, "total", block=0.0)
    assert found is not None
    assert found.call == 0.0, "what one part takes longer, the other takes less"
    one = spread_of(whole, paired([np.zeros(3)] * 2, "quantize"), "quantize", block=0.0)
    assert one is not None
    assert one.call == pytest.approx(1.4826 * 50 / 150, rel=1e-4)


def test_a_total_with_a_part_that_was_not_called_has_no_spread_of_calls() -> None:
    partial = trials({"quantize": [100] * 16, "matmul": [100] * 16}, layout=OPS)
    found = spread_of(partial, paired([np.zeros(3)] * 2, "total"), "total", block=0.0)
    assert found is not None
    assert found.call is None


def test_rounds_that_drift_are_fewer_than_they_look() -> None:
    generator = np.random.default_rng(7)
    apart = [generator.normal(0.0, 0.01, 60) for _ in range(5)]
    drifting = [np.linspace(0.0, 0.1, 60) + row for row in apart]
    assert spread(apart).independence > 0.7
    assert spread(drifting).independence < 0.2
