"""clock-drift: the device ran at another clock frequency at the end of the rounds than at their beginning.

Evidence. `LaunchActivity.megahertz`, read after the warm-up and after the last round, when the device was at
          work: further apart than 5 % in more than half of the launches that could read it. A note.
          Or, on an accelerator, the ratio to the baseline in cycles (cycles.py) is on another side of the
          margin than the ratio in time: the two ran at different clocks, and that decided. A warning.
Why.      Times follow the frequency. Rounds that alternate share it, so ratios hold; a plain time does not,
          and it changes with how long one measures. An accelerator under its power cap gives each lane a
          clock of its own.
"""

from __future__ import annotations

import numpy as np

from stepmark.audit.cycles import both_ratios
from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import percent
from stepmark.records.finding import Finding, FindingName, Severity

MAX_CHANGE = 0.05


def clock_drift(case: CaseLanes) -> Finding | None:
    """Once per case: clocks that decide a verdict first, then the largest change."""
    return _clocks_decide(case) or _changes(case)


def _clocks_decide(case: CaseLanes) -> Finding | None:
    both = both_ratios(case)
    if both is None:
        return None
    margin = case.run.policy.margin
    in_time, in_cycles = both.time.side(margin), both.cycles.side(margin)
    if in_time is None or in_cycles is None or in_time == in_cycles:
        return None
    return Finding(
        name=FindingName.CLOCK_DRIFT,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"takes {both.time.point:.3f} of the baseline's time but {both.cycles.point:.3f} of its cycles: "
            f"it ran at {both.megahertz:.0f} MHz, the baseline at {both.baseline_megahertz:.0f} MHz"
        ),
        remedy="the verdict is this card's, at its power limit; lock the clock to compare the work alone",
        numbers=(
            ("time_ratio", both.time.point),
            ("cycle_ratio", both.cycles.point),
            ("megahertz", both.megahertz),
            ("baseline_megahertz", both.baseline_megahertz),
        ),
    )


def _changes(case: CaseLanes) -> Finding | None:
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
