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
    centres: FloatArray, kind: VerdictKind, *, policy: Policy, look: Look, launch_seconds: float
) -> Power | None:
    """From the centres of one phase over at least two launches; None with fewer."""
    if centres.size < 2:
        return None
    spread = float(deviation(centres))
    edge = math.log1p(policy.margin)
    seen = detectable(spread, centres.size, confidence=confidence_of(look, policy))
    launches = None
    if kind is VerdictKind.INCONCLUSIVE:
        launches = _needed(spread, float(centres.mean()), edge=edge, confidence=policy.confidence)
    return Power(
        deviation=spread,
        detectable=_as_ratio(edge + seen),
        needed=launches,
        seconds=launches * launch_seconds if launches is not None else None,
    )


def _needed(spread: float, point: float, *, edge: float, confidence: float) -> int | None:
    """To say EQUIVALENT of a ratio inside the margin, FASTER or SLOWER of one outside."""
    if abs(point) < edge:
        return needed_inside(spread, point, margin=edge, confidence=confidence, most=MOST_LAUNCHES)
    return needed(spread, abs(point) - edge, confidence=confidence, most=MOST_LAUNCHES)


def _as_ratio(log: float) -> float:
    """The slowdown that a log-ratio stands for; a number too large to matter stays finite."""
    return math.expm1(min(log, 20.0))
