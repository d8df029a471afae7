"""Estimates from the intervals of the statistics, and the interval that a single launch allows."""

from __future__ import annotations

import numpy as np

from stepmark.records.estimate import Estimate, Method
from stepmark.stats.arrays import FloatArray, Interval
from stepmark.stats.bootstrap import percentile
from stepmark.stats.resample import Statistic

NUM_RESAMPLES = 1000
"""For one launch only, whose interval decides nothing: the standard error of a bound is 2 % of the width."""


def resample_launch(
    rows: FloatArray, statistic: Statistic, *, confidence: float, generator: np.random.Generator
) -> Interval:
    """One interval per row over the rounds of one launch, those that every row has."""
    return percentile(
        rows[:, ~np.isnan(rows).any(axis=0)],
        statistic,
        confidence=confidence,
        num_resamples=NUM_RESAMPLES,
        generator=generator,
    )


def to_estimates(
    interval: Interval, num_launches: list[int], *, confidence: float, method: Method
) -> list[Estimate]:
    """Arrays of intervals as records, with the number of launches behind each."""
    return [
        Estimate(point=point, low=low, high=high, confidence=confidence, method=method, num_launches=num)
        for point, low, high, num in zip(*(edge.tolist() for edge in interval), num_launches, strict=True)
    ]
