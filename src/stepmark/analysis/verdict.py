"""The rule: an interval of ratios against a margin gives a verdict.

    1/(1+m)      1      1+m
    ---|---------+-------|----     m: the margin
    [ ]|                 |         FASTER         the whole interval below 1/(1+m)
       |   [   ]         |         EQUIVALENT     the whole interval inside, the edges included
       |               [ | ]       INCONCLUSIVE   it crosses an edge
       |                 | [ ]     SLOWER         the whole interval above 1+m

The margin is symmetric for ratios: whoever is called SLOWER makes the other FASTER.
"""

from __future__ import annotations

from stepmark.records.estimate import Estimate, Method
from stepmark.records.settings import Isolation
from stepmark.records.verdict import Reason, VerdictKind


def decide(ratio: Estimate, *, margin: float) -> VerdictKind:
    """What the interval says; one launch says nothing, however narrow its interval."""
    if ratio.method is Method.BOOTSTRAP_BLOCKS:
        return VerdictKind.INCONCLUSIVE
    return decide_bounds(ratio.low, ratio.high, margin=margin)


def decide_bounds(low: float, high: float, *, margin: float) -> VerdictKind:
    """What an interval says by its bounds."""
    if low > 1.0 + margin:
        return VerdictKind.SLOWER
    if high < 1.0 / (1.0 + margin):
        return VerdictKind.FASTER
    if 1.0 / (1.0 + margin) <= low and high <= 1.0 + margin:
        return VerdictKind.EQUIVALENT
    return VerdictKind.INCONCLUSIVE


def explain(kind: VerdictKind, ratio: Estimate, *, isolation: Isolation) -> tuple[Reason, ...]:
    """The reasons beside a verdict on a ratio."""
    reasons = []
    if ratio.method is Method.BOOTSTRAP_BLOCKS:
        reasons.append(Reason.ONE_LAUNCH)
    elif kind is VerdictKind.INCONCLUSIVE:
        reasons.append(Reason.INTERVAL_CROSSES_MARGIN)
    apart = {
        Isolation.SEPARATE: Reason.SEPARATE_PROCESSES,
        Isolation.ALONE: Reason.ONE_AFTER_ANOTHER,
    }
    if isolation in apart:
        reasons.append(apart[isolation])
    return tuple(reasons)
