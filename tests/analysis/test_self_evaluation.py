"""Evaluation of a self-test: rates, doses, pooled spread, reach; from observations made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.analysis.self_evaluation import (
    detections,
    identical,
    launch_centres,
    pooled_deviation,
    rate,
    reaches,
)
from stepmark.records.estimate import Estimate, Method
from stepmark.records.self_test import Comparison, Observations
from stepmark.records.verdict import VerdictKind
from stepmark.stats.power import detectable
from stepmark.stats.student import t_interval
from tests.support.properties import steady
from tests.support.recordings import Noise, fail_solo, make_recording


def comparison(
    kind: VerdictKind = VerdictKind.EQUIVALENT,
    *,
    workload: str = "norm",
    dose: float = 0.0,
    low: float = 0.995,
    high: float = 1.005,
    centres: tuple[float, ...] = (),
) -> Comparison:
    ratio = Estimate(
        point=(low + high) / 2, low=low, high=high, confidence=0.95, method=Method.T_LAUNCHES, num_launches=5
    )
    return Comparison(
        workload=workload,
        dose=dose,
        turns=round(1000 * dose),
        counted=dose,
        kind=kind,
        ratio=None if kind is VerdictKind.INVALID else ratio,
        centres=centres,
        launch_seconds=(0.5,) * len(centres),
    )


def test_alarms_and_coverage_are_counted_by_workload_and_together() -> None:
    seen = Observations(
        comparisons=(
            comparison(),
            comparison(VerdictKind.SLOWER, low=1.02, high=1.03),
            comparison(VerdictKind.INCONCLUSIVE, workload="linear", low=0.9, high=1.1),
            comparison(VerdictKind.FASTER, workload="linear", low=0.9, high=0.95),
            comparison(VerdictKind.SLOWER, dose=0.05, low=1.04, high=1.06),
            comparison(VerdictKind.INVALID),
        )
    )
    norm, linear, both = identical(seen)
    assert [one.workload for one in (norm, linear, both)] == ["norm", "linear", None]
    assert (norm.alarms.num, norm.alarms.of, norm.covers.num, norm.equivalent.num) == (1, 2, 1, 1)
    assert (both.alarms.num, both.alarms.of, both.covers.num) == (2, 4, 2)


def test_one_workload_needs_no_sum() -> None:
    (row,) = identical(Observations(comparisons=(comparison(),)))
    assert row.workload == "norm"


def test_detections_by_workload_and_dose() -> None:
    seen = Observations(
        comparisons=(
            comparison(VerdictKind.SLOWER, dose=0.05, low=1.04, high=1.06),
            comparison(VerdictKind.INCONCLUSIVE, dose=0.05, low=1.005, high=1.06),
            comparison(VerdictKind.INCONCLUSIVE, dose=0.01, low=0.99, high=1.06),
            comparison(VerdictKind.SLOWER, workload="linear", dose=0.05, low=1.04, high=1.06),
            comparison(),
        )
    )
    small, large, other = detections(seen)
    assert [(one.workload, one.dose) for one in (small, large, other)] == [
        ("norm", 0.01),
        ("norm", 0.05),
        ("linear", 0.05),
    ]
    assert (large.called.num, large.called.of, large.above.num) == (1, 2, 2)
    assert (small.called.num, small.above.num) == (0, 0)


def test_the_reach_follows_from_spread_and_pace() -> None:
    seen = Observations(comparisons=(comparison(centres=(0.01, -0.01)), comparison(centres=(0.03, 0.01))))
    (reach,) = reaches(seen, confidence=0.95)
    assert reach.deviation == pytest.approx(math.sqrt(2.0) * 0.01)
    assert reach.launch_seconds == 0.5
    assert dict(reach.effects)[10.0] == pytest.approx(
        math.expm1(detectable(reach.deviation, 20, confidence=0.95))
    )
    effects = [effect for _, effect in reach.effects if effect is not None]
    assert effects == sorted(effects, reverse=True)


def test_a_single_launch_says_nothing_about_the_reach() -> None:
    assert reaches(Observations(comparisons=(comparison(centres=(0.01,)),)), confidence=0.95) == ()


@steady
@given(st.lists(st.lists(st.floats(-1.0, 1.0), max_size=6), max_size=5), st.floats(-5.0, 5.0))
def test_the_pooled_spread_ignores_where_the_groups_are(groups: list[list[float]], shift: float) -> None:
    moved = [[value + shift * place for value in group] for place, group in enumerate(groups)]
    spread, other = pooled_deviation(groups), pooled_deviation(moved)
    assert (spread is None) == (other is None) == all(len(group) < 2 for group in groups)
    if spread is not None:
        assert other == pytest.approx(spread, abs=1e-6)


@pytest.mark.parametrize("spread", [0.002, 0.004, 0.008])
def test_early_stopping_hardly_moves_the_pooled_spread(spread: float) -> None:
    """Launches until the interval fits into a margin of 1 %, with a look after each from the fifth on."""
    generator = np.random.default_rng(0)
    groups = []
    for _ in range(1500):
        launches = generator.normal(0.0, spread, 22)
        for num in (5, 7, 10, 14, 20, 22):
            _, low, high = t_interval(launches[:num], confidence=0.999)
            if max(-low, high) < 0.01:
                break
        groups.append(launches[:num].tolist())
    assert len({len(group) for group in groups}) > 1
    assert pooled_deviation(groups) == pytest.approx(spread, rel=0.03)


def test_rates_carry_their_interval() -> None:
    seen = rate([True, False, False, False])
    assert (seen.num, seen.of) == (1, 4)
    assert 0.0 < seen.low < 0.25 < seen.high < 1.0
    assert (rate([]).low, rate([]).high) == (0.0, 1.0)


def test_centres_are_the_log_ratios_of_the_launches() -> None:
    recording = make_recording(
        variants={"plain": 1.0, "other": 1.1}, num_launches=4, noise=Noise(process=0.05, instance=0, round=0)
    )
    centres = launch_centres(recording)
    assert len(centres) == 4
    np.testing.assert_allclose(centres, math.log(1.1), atol=1e-5)


def test_without_a_partner_there_are_no_centres() -> None:
    assert launch_centres(fail_solo(make_recording(), "mine")) == ()
