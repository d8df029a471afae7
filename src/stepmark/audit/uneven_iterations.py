"""uneven-iterations: now and then an iteration takes far longer, and the median does not see it.

Evidence. In each launch with the baseline, the ratio of the means of all blocks beside the ratio of their
          medians. Over three launches or more the first lies further than 5 % from the second, by a 99 %
          interval. An error where both ratios are decided and say different things: what is called FASTER
          by medians is as long, or longer, on average. Else a warning.
          What the machine does to single blocks is long, too, but it meets both arms alike.
Why.      Verdicts go by medians, which leave out what few blocks did. Work that is done in every tenth step
          (an orthogonal retraction, a table that is made anew, a cache that is emptied) is work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepmark.audit.cycles import Ratio, ratio_of
from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import time
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.trial import Role
from stepmark.stats.arrays import FloatArray

LEAST_LAUNCHES = 3
APART = 0.05
"""Of the two ratios."""
CONFIDENCE = 0.99


class _Level(NamedTuple):
    """Seconds of one lane in one launch."""

    mean: float
    median: float


def uneven_iterations(case: CaseLanes) -> Finding | None:
    """Once per case that has a baseline."""
    if case.baseline is None:
        return None
    mine, theirs = _levels(case), _levels(case.baseline)
    both = sorted(mine.keys() & theirs.keys())
    if len(both) < LEAST_LAUNCHES:
        return None
    own, base = (np.array([levels[number] for number in both]) for levels in (mine, theirs))
    logs: FloatArray = np.log(own / base)
    apart = ratio_of(logs[:, 0] - logs[:, 1], CONFIDENCE)
    if not apart.side(APART):
        return None
    confidence, margin = case.run.policy.confidence, case.run.policy.margin
    means, medians = ratio_of(logs[:, 0], confidence), ratio_of(logs[:, 1], confidence)
    return _finding(
        case, means, medians, np.median(own, axis=0), contradict=_contradict(means, medians, margin)
    )


def _contradict(means: Ratio, medians: Ratio, margin: float) -> bool:
    sides = means.side(margin), medians.side(margin)
    return None not in sides and sides[0] != sides[1]


def _finding(case: CaseLanes, means: Ratio, medians: Ratio, own: FloatArray, *, contradict: bool) -> Finding:
    mean, median = map(float, own)
    return Finding(
        name=FindingName.UNEVEN_ITERATIONS,
        severity=Severity.ERROR if contradict else Severity.WARNING,
        case=case.id,
        message=(
            f"takes {time(mean)} on average, {time(median)} in the median: {means.point:.3g} times as long "
            f"as the baseline on average, {medians.point:.3g} times in the median, by which the verdict goes"
        ),
        remedy="let an iteration hold a whole turn of what is done now and then, or read the means",
        numbers=(
            ("mean_seconds", mean),
            ("median_seconds", median),
            ("ratio_of_means", means.point),
            ("ratio_of_medians", medians.point),
        ),
    )


def _levels(case: CaseLanes) -> dict[int, _Level]:
    """By number of the launch, of those that the verdict rests on."""
    last = case.lanes[-1][0].isolation if case.lanes else None
    return {
        launch.number: _Level(float(np.mean(blocks)), float(np.median(blocks)))
        for (launch, _), blocks in zip(case.lanes, case.blocks, strict=True)
        if launch.role is not Role.ALONE and launch.isolation is last
        if blocks is not None and float(np.min(blocks)) > 0.0
    }
