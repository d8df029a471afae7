"""quantised-clock: the clock's steps are visible in the times.

Evidence. In more than half of the launches with at least 20 blocks, the totals of the blocks (primary phase)
          repeat, fewer than half of them being different, and the smallest step between different ones is
          above 1 % of their median. A clock that counts nanoseconds hardly ever shows a total twice.
Why.      A difference smaller than the step does not exist for such a clock: medians jump from one step to
          the next, and an interval of width 0 may only mean that nothing finer could be seen.
"""

from __future__ import annotations

import numpy as np

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.stats.arrays import FloatArray

MIN_BLOCKS = 20
MAX_STEP = 0.01
"""Of the median."""
ROUNDING = 1e-6
"""Of the median: sums of phases that are equal differ by less, steps worth a finding by more."""
SHORTEST = 1e-12
"""Seconds: the grain where most blocks are shorter than one step of the clock."""


def quantised_clock(case: CaseLanes) -> Finding | None:
    """Once per case, with the typical step."""
    long_enough = [blocks for blocks in case.blocks if blocks is not None and blocks.size >= MIN_BLOCKS]
    coarse = [(step, blocks) for blocks in long_enough if (step := _step(blocks)) is not None]
    if not coarse or 2 * len(coarse) <= len(long_enough):
        return None
    step = float(np.median([step for step, _ in coarse]))
    middle = float(np.median([np.median(blocks) for _, blocks in coarse]))
    return Finding(
        name=FindingName.QUANTISED_CLOCK,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"times come in steps of {step * 1e6:.3g} µs around {middle * 1e6:.3g} µs an iteration, in "
            f"{len(coarse)} of {len(long_enough)} launches"
        ),
        remedy="use another clock source (`stepmark doctor` names it), or measure a larger step",
        numbers=(("step_seconds", step), ("median_seconds", middle), ("launches", float(len(coarse)))),
    )


def _step(blocks: FloatArray) -> float | None:
    """The smallest difference between different totals, where they repeat and it is large."""
    middle = float(np.median(blocks))
    grain = ROUNDING * middle if middle > 0.0 else SHORTEST
    different = np.unique(np.round(blocks / grain))
    if not 1 < different.size <= blocks.size // 2:
        return None
    step = float(np.diff(different).min()) * grain
    return step if step > MAX_STEP * middle else None
