"""Ratios over launches: the interval of a look, and what a single launch allows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.analysis.compare import compare, confidence_of
from stepmark.analysis.pairing import Paired
from stepmark.analysis.seeds import generator_for
from stepmark.records.estimate import Estimate, Method
from stepmark.records.settings import Policy
from stepmark.records.verdict import Look
from stepmark.stats.arrays import FloatArray, pad
from stepmark.stats.quantile import median
from stepmark.stats.ratio import ratio_of_centres
from tests.support.properties import samples, steady

log_ratios = st.floats(-1.0, 1.0)
rounds_of_launches = st.lists(samples(log_ratios, min_size=1, max_size=8), min_size=1, max_size=6)
shares = st.floats(0.01, 1.0)


def paired(rows: list[FloatArray]) -> Paired:
    logs = pad(rows)[None]
    return Paired(phases=("forward",), launches=tuple(range(len(rows))), logs=logs, centres=median(logs))


def look(share: float = 1.0) -> Look:
    return Look(launches=5, early=False, share=share)


def ratio(rows: list[FloatArray], *, share: float = 1.0, confidence: float = 0.95) -> Estimate:
    policy = Policy(confidence=confidence)
    return compare(paired(rows), policy=policy, look=look(share), generator=generator_for(0))["forward"]


@steady
@given(rounds_of_launches, st.floats(0.1, 10.0))
def test_a_slower_case_multiplies_the_ratio(rows: list[FloatArray], factor: float) -> None:
    plain, slower = ratio(rows), ratio([row + np.log(factor) for row in rows])
    assert [slower.low, slower.point, slower.high] == pytest.approx(
        [factor * plain.low, factor * plain.point, factor * plain.high], rel=1e-6
    )


@steady
@given(rounds_of_launches, shares, shares)
def test_a_smaller_share_of_alpha_has_a_wider_interval(
    rows: list[FloatArray], one: float, other: float
) -> None:
    narrow, wide = ratio(rows, share=max(one, other)), ratio(rows, share=min(one, other))
    assert wide.low <= narrow.low <= narrow.point <= narrow.high <= wide.high
    assert narrow.point == wide.point
    assert narrow.confidence == wide.confidence == 0.95, "what all looks together keep"


@steady
@given(rounds_of_launches)
def test_a_look_with_all_of_alpha_has_the_policys_interval(rows: list[FloatArray]) -> None:
    if len(rows) < 2:
        return
    expected = ratio_of_centres(median(pad(rows)), confidence=0.9)
    estimate = ratio(rows, confidence=0.9)
    assert (estimate.low, estimate.point, estimate.high) == pytest.approx(
        (float(expected.low), float(expected.point), float(expected.high))
    )
    assert (estimate.method, estimate.num_launches) == (Method.T_LAUNCHES, len(rows))


@pytest.mark.parametrize(("share", "expected"), [(1.0, 0.95), (0.88, 0.956), (0.02, 0.999)])
def test_the_confidence_of_a_look(share: float, expected: float) -> None:
    assert confidence_of(look(share), Policy(confidence=0.95)) == pytest.approx(expected)


def test_one_launch_is_resampled_over_its_rounds() -> None:
    estimate = ratio([np.log([1.0, 2.0, 3.0, 4.0, 5.0])])
    assert (estimate.method, estimate.num_launches) == (Method.BOOTSTRAP_BLOCKS, 1)
    assert 1.0 <= estimate.low < estimate.point < estimate.high <= 5.0


def test_rounds_that_one_launch_has_not_are_not_resampled() -> None:
    assert ratio([np.array([np.log(2.0), np.nan, np.log(2.0)])]).high == pytest.approx(2.0)


def test_no_launch_no_ratio() -> None:
    nothing = Paired(phases=("forward",), launches=(), logs=np.empty((1, 0, 4)), centres=np.empty((1, 0)))
    assert compare(nothing, policy=Policy(), look=look(), generator=generator_for(0)) == {}


def test_no_phase_no_ratio() -> None:
    nothing = Paired(phases=(), launches=(0, 1), logs=np.empty((0, 2, 4)), centres=np.empty((0, 2)))
    assert compare(nothing, policy=Policy(), look=look(), generator=generator_for(0)) == {}
