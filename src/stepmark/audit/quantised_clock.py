"""quantised-clock: the clock's steps are visible in the times.

Evidence. In more than half of the launches with at least 20 blocks, the totals of the blocks (primary phase)
          repeat, fewer than half of them being different, and the smallest step between different ones is
          above a fifth of the policy's margin, or above 1 % of their median where the margin is wider. A
          clock that counts nanoseconds hardly ever shows a total twice.
          Where all blocks are equal they have no step of their own. Then what all times of the launch are
          multiples of stands for it, of all lanes and phases and their warm-ups: the clock's own is no
          larger. Where these are one and the same nothing is known, unless it is 0: that is below the step of
          any clock. A scripted clock that costs nothing and counts round numbers looks coarse.
Why.      A difference smaller than the step does not exist for such a clock: medians jump from one step to
          the next, and an interval of width 0 may only mean that nothing finer could be seen. A median is up
          to half a step off, a ratio of two up to a step. In simulation, with steps as large as the margin,
          every interval missed a true ratio of 1.012, and 96 in 100 said EQUIVALENT; with steps of a fifth
          of it a verdict is wrong only about ratios that near the margin's edge.
"""

from __future__ import annotations

import numpy as np

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.trial import LaneTrial, LaunchTrial
from stepmark.stats.arrays import FloatArray
from stepmark.stats.blocks import integers

MIN_BLOCKS = 20
MAX_STEP = 0.01
"""Of the median."""
MAX_SHARE = 0.2
"""Of the margin."""
ROUNDING = 1e-6
"""Of the median: sums of phases that are equal differ by less, steps worth a finding by more."""
SHORTEST = 1e-12
"""Seconds: the grain where most blocks are shorter than one step of the clock."""


def quantised_clock(case: CaseLanes) -> Finding | None:
    """Once per case, with the typical step."""
    limit = min(MAX_STEP, MAX_SHARE * case.run.policy.margin)
    steps = [
        (step, float(np.median(blocks)))
        for (launch, lane), blocks in zip(case.lanes, case.blocks, strict=True)
        if blocks is not None and blocks.size >= MIN_BLOCKS
        for step in (_step(launch, lane, blocks),)
    ]
    coarse = [(step, middle) for step, middle in steps if step is not None and step >= limit * middle]
    if not coarse or 2 * len(coarse) <= len(steps):
        return None
    step, middle = (float(each) for each in np.median(coarse, axis=0))
    said = f"times come in steps of {step * 1e6:.3g} µs around {middle * 1e6:.3g} µs an iteration"
    said = said if step else "the clock did not move in any block"
    return Finding(
        name=FindingName.QUANTISED_CLOCK,
        severity=Severity.WARNING,
        case=case.id,
        message=f"{said}, in {len(coarse)} of {len(steps)} launches",
        remedy="use another clock source (`stepmark doctor` names it), or measure a larger step",
        numbers=(("step_seconds", step), ("median_seconds", middle), ("launches", float(len(coarse)))),
    )


def _step(launch: LaunchTrial, lane: LaneTrial, blocks: FloatArray) -> float | None:
    """The smallest difference between different totals, in seconds an iteration, where they repeat."""
    middle = float(np.median(blocks))
    grain = ROUNDING * middle if middle > 0.0 else SHORTEST
    between = np.diff(np.sort(blocks))
    steps = between[between > grain]
    if steps.size + 1 > blocks.size // 2:
        return None
    return float(steps.min()) if steps.size else _step_of_all(launch, lane)


def _step_of_all(launch: LaunchTrial, lane: LaneTrial) -> float | None:
    """What all times of the launch are multiples of, shared by the lane's iterations; None where they are one
    and the same."""
    warmups = [each.warmup for each in launch.lanes if each.warmup is not None]
    packed = [sample.nanoseconds for each in launch.lanes for sample in each.samples]
    packed += [series for warmup in warmups for series in (warmup.nanoseconds, warmup.first)]
    times = np.unique(np.concatenate([integers(series) for series in packed]))
    if times.size == 1 and times[0] > 0:
        return None
    return float(np.gcd.reduce(times)) * 1e-9 / max(sample.iterations for sample in lane.samples)
