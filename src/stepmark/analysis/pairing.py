"""Pairing: log-ratios of a case to the baseline, round by round inside each launch that counts.

Only rounds that both lanes completed are paired. A launch counts when it has `min_rounds` such rounds: with
fewer than three, one disturbed round decides the median.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from stepmark.analysis.times import Times
from stepmark.stats.arrays import BoolArray, FloatArray, count
from stepmark.stats.quantile import median
from stepmark.stats.ratio import log_ratios

MIN_PAIRED_ROUNDS = 3
"""A run whose settings ask for fewer rounds is content with those."""
SHORTEST = 1e-12
"""Seconds: a time of 0, below the clock's resolution, is taken as this, so that it has a logarithm."""


@dataclass(frozen=True)
class Paired:
    """Log-ratios of some phases over the launches that count."""

    phases: tuple[str, ...]
    launches: tuple[int, ...]
    logs: FloatArray
    """Phase by launch by round; NaN where a round is missing."""
    centres: FloatArray
    """Phase by launch: the median over the rounds."""

    def of(self, phase: str) -> FloatArray:
        """The centres of one phase."""
        row: FloatArray = self.centres[self.phases.index(phase)]
        return row


def least_rounds(min_rounds: int) -> int:
    """Paired rounds a launch needs, in a run with these settings."""
    return max(1, min(MIN_PAIRED_ROUNDS, min_rounds))


def pair(
    case: Times, baseline: Times, phases: tuple[str, ...], *, among: Collection[int], min_rounds: int
) -> Paired:
    """The named phases in the launches of `among` that both took part in."""
    both = [number for number in case.launches if number in baseline.launches and number in among]
    width = min(case.seconds.shape[-1], baseline.seconds.shape[-1])
    times = [
        lane.rows(phases)[:, [lane.launches.index(number) for number in both], :width]
        for lane in (case, baseline)
    ]
    logs = log_ratios(*(np.maximum(seconds, SHORTEST) for seconds in times))
    counts: BoolArray = np.all(count(logs) >= least_rounds(min_rounds), axis=0)
    kept = logs[:, counts]
    return Paired(
        phases=phases,
        launches=tuple(number for number, counted in zip(both, counts, strict=True) if counted),
        logs=kept,
        centres=median(kept),
    )
