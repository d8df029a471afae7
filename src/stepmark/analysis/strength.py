"""Strength: what a comparison could have seen, and what it would take to decide it."""

from __future__ import annotations

import math

from stepmark.analysis.compare import confidence_of
from stepmark.records.settings import Policy
from stepmark.records.verdict import Look, Power, VerdictKind
from stepmark.stats.arrays import FloatArray, deviation
from stepmark.stats.power import detectable, needed, needed_inside

MOST_LAUNCHES = 5000
"""More than this is not advice: the ratio sits on the edge of the margin."""


def strength(
    centres: FloatArray,
    kind: VerdictKind,
    *,
    policy: Policy,
    look: Look,
    launch_seconds: float,
    num_comparisons: int = 1,
) -> Power | None:
    """From the centres of one phase over at least two launches; None with fewer. A difference must stand
    among all comparisons of the run (sweep.py), in the worst case as the only one."""
    if centres.size < 2:
        return None
    spread = float(deviation(centres))
    edge = math.log1p(policy.margin)
    seen = detectable(spread, centres.size, confidence=among(num_comparisons, confidence_of(look, policy)))
    launches = None
    if kind is VerdictKind.INCONCLUSIVE:
        launches = _needed(
            spread, float(centres.mean()), policy=policy, edge=edge, num_comparisons=num_comparisons
        )
    return Power(
        deviation=spread,
        detectable=_as_ratio(edge + seen),
        needed=launches,
        seconds=launches * launch_seconds if launches is not None else None,
    )


def among(num_comparisons: int, confidence: float) -> float:
    """Of an interval that shows a single difference among so many comparisons."""
    return 1.0 - (1.0 - confidence) / max(1, num_comparisons)


def _needed(spread: float, point: float, *, policy: Policy, edge: float, num_comparisons: int) -> int | None:
    """To say EQUIVALENT of a ratio inside the margin, FASTER or SLOWER of one outside."""
    if abs(point) < edge:
        return needed_inside(spread, point, margin=edge, confidence=policy.confidence, most=MOST_LAUNCHES)
    confidence = among(num_comparisons, policy.confidence)
    return needed(spread, abs(point) - edge, confidence=confidence, most=MOST_LAUNCHES)


def _as_ratio(log: float) -> float:
    """The slowdown that a log-ratio stands for; a number too large to matter stays finite."""
    return math.expm1(min(log, 20.0))
