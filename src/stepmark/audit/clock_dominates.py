"""clock-dominates: the clock's own cost is a visible part of what it measured.

Evidence. `LaneTrial.clock_seconds`, measured in the same process, against the median time of one iteration of
          the primary phase; the median over launches of their quotient.
Why.      The cost is the same for all variants, so it pulls every ratio towards 1: at 1 % a true ratio of 2
          reads 1.99.
"""

from __future__ import annotations

import numpy as np

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import percent, time
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.stats.quantile import median

MAX_SHARE = 0.01
SHORTEST = 1e-12
"""Seconds: stands for a time of 0, below the clock's resolution, where it is divided by."""


def clock_dominates(case: CaseLanes) -> Finding | None:
    """Once per case, for its primary phase."""
    pairs = [
        (lane.clock_seconds, level)
        for (_, lane), level in zip(case.lanes, case.levels, strict=True)
        if level is not None
    ]
    clocks, levels = [clock for clock, _ in pairs], [level for _, level in pairs]
    if not any(clocks):
        return None
    iterations = np.maximum(np.array(levels), SHORTEST)
    share = float(median(np.array(clocks) / iterations))
    if share <= MAX_SHARE:
        return None
    clock, iteration = float(median(np.array(clocks))), float(median(iterations))
    return Finding(
        name=FindingName.CLOCK_DOMINATES,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"the clock adds {time(clock)} to an iteration of {time(iteration)} "
            f"({percent(share)}; {percent(MAX_SHARE)} is the limit)"
        ),
        remedy="measure a larger step, or several calls as one step",
        numbers=(("clock_seconds", clock), ("iteration_seconds", iteration), ("share", share)),
    )
