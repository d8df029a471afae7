"""clock-drift: the device ran at another clock frequency at the end of the rounds than at their beginning.

Evidence. `LaunchActivity.megahertz`, read after the warm-up and after the last round, when the device was at
          work: further apart than 5 % in more than half of the launches that could read it.
Why.      Times follow the frequency. Rounds that alternate share it, so ratios hold; a plain time does not,
          and it changes with how long one measures.
"""

from __future__ import annotations

import numpy as np

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import percent
from stepmark.records.finding import Finding, FindingName, Severity

MAX_CHANGE = 0.05


def clock_drift(case: CaseLanes) -> Finding | None:
    """Once per case, with the largest change."""
    read = [launch.activity.megahertz for launch, _ in case.lanes if launch.activity is not None]
    pairs = np.array([pair for pair in read if pair is not None and min(pair) > 0.0])
    if pairs.size == 0:
        return None
    changes = pairs.max(axis=1) / pairs.min(axis=1) - 1.0
    drifting = changes > MAX_CHANGE
    num_drifting = int(np.count_nonzero(drifting))
    if 2 * num_drifting <= len(pairs):
        return None
    begin, end = pairs[int(np.argmax(changes))].tolist()
    return Finding(
        name=FindingName.CLOCK_DRIFT,
        severity=Severity.NOTE,
        case=case.id,
        message=(
            f"the clock went from {begin:.0f} MHz to {end:.0f} MHz in the course of a launch, and by more "
            f"than {percent(MAX_CHANGE)} in {num_drifting} of {len(pairs)} launches"
        ),
        remedy="fix the frequency (governor, boost, application clocks); `stepmark doctor` shows what it is",
        numbers=(("begin_megahertz", begin), ("end_megahertz", end), ("launches", float(num_drifting))),
    )
