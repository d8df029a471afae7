"""Ratios of a case to the baseline: paired by round inside a launch, the interval over launches.

Only rounds that both lanes completed are paired. A launch counts when it has `min_rounds` such rounds: with
fewer than three, one disturbed round decides the median.
"""

from __future__ import annotations

import numpy as np

from stepmark.analysis.estimates import resample_launch, to_estimates
from stepmark.analysis.times import Times
from stepmark.records.estimate import Estimate, Method
from stepmark.stats.arrays import FloatArray, count
from stepmark.stats.ratio import log_ratios, ratio_over_launches
from stepmark.stats.student import exponentiate

MIN_PAIRED_ROUNDS = 3
"""A run whose settings ask for fewer rounds is content with those."""
SHORTEST = 1e-12
"""Seconds: a time of 0, below the clock's resolution, is taken as this, so that it has a logarithm."""


def compare(
    case: Times,
    baseline: Times,
    phases: tuple[str, ...],
    *,
    min_rounds: int,
    confidence: float,
    generator: np.random.Generator,
) -> dict[str, Estimate]:
    """The ratio of each phase; empty where no launch counts."""
    logs = _paired(case, baseline, phases)
    counts = (count(logs) >= min_rounds).all(axis=0)
    num_launches = int(counts.sum())
    if num_launches == 0 or not phases:
        return {}
    if num_launches == 1:
        rounds = logs[:, counts][:, 0]
        over_rounds = resample_launch(rounds, "median", confidence=confidence, generator=generator)
        interval, method = exponentiate(over_rounds), Method.BOOTSTRAP_BLOCKS
    else:
        interval = ratio_over_launches(logs[:, counts], confidence=confidence)
        method = Method.T_LAUNCHES
    estimates = to_estimates(interval, [num_launches] * len(phases), confidence=confidence, method=method)
    return dict(zip(phases, estimates, strict=True))


def _paired(case: Times, baseline: Times, phases: tuple[str, ...]) -> FloatArray:
    """Log-ratios, phase by launch by round, of the launches that both took part in."""
    launches = [number for number in case.launches if number in baseline.launches]
    width = min(case.seconds.shape[-1], baseline.seconds.shape[-1])
    times = [
        lane.rows(phases)[:, [lane.launches.index(number) for number in launches], :width]
        for lane in (case, baseline)
    ]
    return log_ratios(*(np.maximum(seconds, SHORTEST) for seconds in times))
