"""The rule from interval and margin to a verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.analysis.verdict import decide, explain
from stepmark.records.estimate import Estimate, Method
from stepmark.records.settings import Isolation
from stepmark.records.verdict import Reason, VerdictKind
from tests.support.properties import steady

FASTER, SLOWER = VerdictKind.FASTER, VerdictKind.SLOWER
EQUIVALENT, INCONCLUSIVE = VerdictKind.EQUIVALENT, VerdictKind.INCONCLUSIVE


def ratio(low: float, high: float, method: Method = Method.T_LAUNCHES) -> Estimate:
    return Estimate(
        point=(low * high) ** 0.5, low=low, high=high, confidence=0.95, method=method, num_launches=5
    )


@st.composite
def intervals(draw: st.DrawFn) -> Estimate:
    low = draw(st.floats(0.5, 2.0))
    return ratio(low, low * draw(st.floats(1.001, 1.5)))


@steady
@given(intervals(), st.floats(0.0, 0.5))
def test_the_other_way_round_is_the_opposite(interval: Estimate, margin: float) -> None:
    opposite = {FASTER: SLOWER, SLOWER: FASTER}
    kind = decide(interval, margin=margin)
    inverse = decide(ratio(1.0 / interval.high, 1.0 / interval.low), margin=margin * (1.0 + 1e-9))
    nudged = decide(ratio(1.0 / interval.high, 1.0 / interval.low), margin=margin * (1.0 - 1e-9))
    assert opposite.get(kind, kind) in (inverse, nudged)


@steady
@given(intervals(), st.floats(0.0, 0.5), st.floats(0.0, 0.5))
def test_a_wider_margin_never_makes_a_difference(interval: Estimate, one: float, other: float) -> None:
    kinds = [decide(interval, margin=margin) for margin in sorted((one, other))]
    if kinds[1] in (FASTER, SLOWER):
        assert kinds[0] == kinds[1]
    if kinds[0] is EQUIVALENT:
        assert kinds[1] is EQUIVALENT


@steady
@given(intervals(), st.floats(0.0, 0.5))
def test_an_interval_around_one_never_says_different(interval: Estimate, margin: float) -> None:
    if interval.low <= 1.0 <= interval.high:
        assert decide(interval, margin=margin) in (EQUIVALENT, INCONCLUSIVE)


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [
        (1.011, 1.2, SLOWER),
        (0.8, 0.99, FASTER),
        (0.995, 1.005, EQUIVALENT),
        (1.0 / 1.01, 1.01, EQUIVALENT),
        (1.005, 1.02, INCONCLUSIVE),
        (1.01, 1.02, INCONCLUSIVE),
        (0.9, 1.0 / 1.01, INCONCLUSIVE),
        (0.5, 2.0, INCONCLUSIVE),
    ],
)
def test_examples_at_one_per_cent(low: float, high: float, kind: VerdictKind) -> None:
    assert decide(ratio(low, high), margin=0.01) is kind


def test_without_a_margin_only_exactly_one_is_equivalent() -> None:
    assert decide(ratio(1.0, 1.0), margin=0.0) is EQUIVALENT
    assert decide(ratio(1.0, 1.0 + 1e-12), margin=0.0) is INCONCLUSIVE


def test_one_launch_decides_nothing() -> None:
    alone = ratio(1.5, 1.6, Method.BOOTSTRAP_BLOCKS)
    assert decide(alone, margin=0.01) is INCONCLUSIVE
    assert explain(INCONCLUSIVE, alone, isolation=Isolation.SHARED) == (Reason.ONE_LAUNCH,)


def test_reasons_only_where_the_interval_does_not_say() -> None:
    assert explain(SLOWER, ratio(1.5, 1.6), isolation=Isolation.SHARED) == ()
    assert explain(SLOWER, ratio(1.5, 1.6), isolation=Isolation.SEPARATE) == (Reason.SEPARATE_PROCESSES,)
    assert explain(INCONCLUSIVE, ratio(0.9, 1.1), isolation=Isolation.SEPARATE) == (
        Reason.INTERVAL_CROSSES_MARGIN,
        Reason.SEPARATE_PROCESSES,
    )
    assert explain(SLOWER, ratio(1.5, 1.6), isolation=Isolation.ALONE) == (Reason.ONE_AFTER_ANOTHER,)
