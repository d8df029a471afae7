"""Cycles: the ratio of a case to the baseline in cycles of the card's clock, beside the ratio in time.

Method.       In each launch that both took part in, the median time of each times the median clock that was
              read right after its blocks; logarithms of the ratios over launches, with Student's interval.
Assumptions.  The clock right after a block is the clock of the block.
Fails.        Memory has a clock of its own: work that waits for memory takes more cycles of a faster clock.
              So cycles never correct a verdict, they only say when the clock may have made it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stepmark.audit.lanes import CaseLanes
from stepmark.records.sample import unpack
from stepmark.records.trial import LaneTrial, Role
from stepmark.stats.arrays import FloatArray
from stepmark.stats.student import exponentiate, t_interval

LEAST_LAUNCHES = 2


class Ratio(NamedTuple):
    """A ratio to the baseline with its interval."""

    point: float
    low: float
    high: float

    def side(self, margin: float) -> int | None:
        """-1 below the margin, 1 above it, 0 inside it; None where the interval crosses an edge."""
        if self.low > 1.0 + margin:
            return 1
        if self.high < 1.0 / (1.0 + margin):
            return -1
        return 0 if 1.0 / (1.0 + margin) <= self.low and self.high <= 1.0 + margin else None


class BothRatios(NamedTuple):
    """In time and in cycles, with the clocks between them."""

    time: Ratio
    cycles: Ratio
    megahertz: float
    baseline_megahertz: float


def both_ratios(case: CaseLanes) -> BothRatios | None:
    """None where there is no baseline, or too few launches in which both clocks were read."""
    if case.baseline is None:
        return None
    mine, theirs = _levels(case), _levels(case.baseline)
    both = sorted(mine.keys() & theirs.keys())
    if len(both) < LEAST_LAUNCHES:
        return None
    own, base = (np.array([levels[number] for number in both]) for levels in (mine, theirs))
    in_time = np.log(own[:, 0] / base[:, 0])
    clocks = np.log(own[:, 1] / base[:, 1])
    confidence = case.run.policy.confidence
    return BothRatios(
        time=ratio_of(in_time, confidence),
        cycles=ratio_of(in_time + clocks, confidence),
        megahertz=float(np.median(own[:, 1])),
        baseline_megahertz=float(np.median(base[:, 1])),
    )


def lane_megahertz(lane: LaneTrial) -> float | None:
    """The median of what was read between its blocks."""
    read = unpack(lane.watch.card.clocks) if lane.watch.card is not None else ()
    known = [value for value in read if value > 0]
    return float(np.median(known)) if known else None


def _levels(case: CaseLanes) -> dict[int, tuple[float, float]]:
    """Seconds and clock by number of the launch, of those that the verdict rests on."""
    last = case.lanes[-1][0].isolation if case.lanes else None
    return {
        launch.number: (level, clock)
        for (launch, lane), level in zip(case.lanes, case.levels, strict=True)
        if launch.role is not Role.ALONE and launch.isolation is last
        if level is not None and level > 0.0 and (clock := lane_megahertz(lane)) is not None
    }


def ratio_of(logs: FloatArray, confidence: float) -> Ratio:
    """Of launches, each with the logarithm of its ratio."""
    interval = exponentiate(t_interval(logs, confidence=confidence))
    point, low, high = (float(edge) for edge in interval)
    return Ratio(point, low if math.isfinite(low) else 0.0, high)
