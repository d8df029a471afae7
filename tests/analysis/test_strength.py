"""What a comparison could have seen, and what a decision would take."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.analysis.strength import MOST_LAUNCHES, strength
from stepmark.analysis.verdict import decide_bounds
from stepmark.records.settings import Policy
from stepmark.records.verdict import Look, Power, VerdictKind
from stepmark.stats.arrays import FloatArray
from stepmark.stats.power import detectable
from stepmark.stats.ratio import ratio_of_centres
from tests.support.properties import samples, steady

POLICY = Policy(margin=0.01, confidence=0.95)
centres = samples(st.floats(-0.2, 0.2), min_size=2, max_size=30)
kinds = st.sampled_from([kind for kind in VerdictKind if kind is not VerdictKind.INVALID])


def look(share: float = 1.0) -> Look:
    return Look(launches=10, early=False, share=share)


def power(values: FloatArray, kind: VerdictKind = VerdictKind.INCONCLUSIVE, *, share: float = 1.0) -> Power:
    found = strength(values, kind, policy=POLICY, look=look(share), launch_seconds=0.5)
    assert found is not None
    return found


@steady
@given(centres, kinds)
def test_only_the_undecided_need_more(values: FloatArray, kind: VerdictKind) -> None:
    found = power(values, kind)
    if kind is not VerdictKind.INCONCLUSIVE:
        assert (found.needed, found.seconds) == (None, None)
    assert (found.needed is None) == (found.seconds is None)
    if found.needed is not None:
        assert 2 <= found.needed <= MOST_LAUNCHES
        assert found.seconds == pytest.approx(found.needed * 0.5)


@steady
@given(centres, kinds)
def test_what_can_be_seen_lies_beyond_the_margin_and_is_finite(values: FloatArray, kind: VerdictKind) -> None:
    found = power(values, kind)
    assert POLICY.margin * (1.0 - 1e-9) <= found.detectable < math.inf
    assert found.deviation == pytest.approx(float(values.std(ddof=1)), abs=1e-12)


@steady
@given(centres)
def test_a_slowdown_of_that_size_is_called_slower_more_often_than_not(values: FloatArray) -> None:
    """With the ratio where it says, and the spread seen, the interval lies beyond the margin."""
    found = power(values)
    moved = values - values.mean() + math.log1p(found.detectable)
    interval = ratio_of_centres(moved, confidence=POLICY.confidence)
    assert interval.low >= (1.0 + POLICY.margin) * (1.0 - 1e-9)


@steady
@given(centres, st.floats(0.02, 0.9))
def test_an_early_look_sees_less(values: FloatArray, share: float) -> None:
    assert power(values, share=share).detectable >= power(values).detectable


@steady
@given(centres)
def test_the_launches_needed_tell_the_ratio_from_the_margin(values: FloatArray) -> None:
    found = power(values)
    distance = abs(abs(float(values.mean())) - math.log1p(POLICY.margin))
    if found.needed is None:
        power_wanted = 0.8 if abs(float(values.mean())) >= math.log1p(POLICY.margin) else 0.9
        seen = detectable(
            found.deviation, MOST_LAUNCHES, confidence=POLICY.confidence, power=power_wanted + 1e-9
        )
        assert seen > distance, "inside the margin either edge may miss one time in ten"
    else:
        assert detectable(found.deviation, found.needed, confidence=POLICY.confidence) <= distance


@pytest.mark.parametrize("centre", [0.0, 0.004, 0.017])
def test_as_many_launches_as_it_says_do_decide(centre: float) -> None:
    values = np.array([0.013, -0.027, 0.008, -0.017, 0.023]) + centre
    num = power(values).needed
    assert num is not None
    spread = np.random.default_rng(3).normal(0.0, values.std(ddof=1), (400, num))
    interval = ratio_of_centres(values.mean() + spread, confidence=POLICY.confidence)
    kinds_found = [
        decide_bounds(float(low), float(high), margin=POLICY.margin)
        for low, high in zip(interval.low, interval.high, strict=True)
    ]
    decided = sum(kind is not VerdictKind.INCONCLUSIVE for kind in kinds_found) / len(kinds_found)
    assert decided == pytest.approx(0.8, abs=0.08)


@pytest.mark.parametrize("values", [np.array([]), np.array([0.1])])
def test_one_launch_knows_nothing_about_its_spread(values: FloatArray) -> None:
    assert strength(values, VerdictKind.INCONCLUSIVE, policy=POLICY, look=look(), launch_seconds=1.0) is None


def test_on_the_edge_of_the_margin_there_is_no_advice() -> None:
    edge = math.log(1.01)
    found = power(np.array([edge - 0.01, edge + 0.01]))
    assert (found.needed, found.seconds) == (None, None)


def test_an_absurd_spread_stays_a_number() -> None:
    found = power(np.array([-600.0, 600.0]))
    assert found.detectable == pytest.approx(math.expm1(20.0))
