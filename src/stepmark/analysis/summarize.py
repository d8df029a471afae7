"""Summaries: every phase of a case over all its launches, with intervals, spreads and outliers."""

from __future__ import annotations

import numpy as np

from stepmark.analysis.estimates import resample_launch, to_estimates
from stepmark.analysis.times import REMAINDER, Times
from stepmark.records.estimate import Estimate, Method, OutlierCounts, Summary
from stepmark.stats.arrays import BoolArray, FloatArray, count, mean
from stepmark.stats.level import level, relative_spread
from stepmark.stats.quantile import mad, median, quantiles
from stepmark.stats.resample import Statistic
from stepmark.stats.tukey import count_outliers, fences_at


def summarize(
    case: str, times: Times, *, confidence: float, generator: np.random.Generator
) -> tuple[Summary, ...]:
    """One summary per phase, in the order of `times`."""
    seconds = times.seconds
    additive = np.array([phase == REMAINDER for phase in times.phases])
    first, medians, third = quantiles(seconds, (0.25, 0.5, 0.75))
    centres: dict[Statistic, FloatArray] = {"median": medians, "mean": mean(seconds)}
    by_median, by_mean = (
        _estimates(seconds, *centre, additive=additive, confidence=confidence, generator=generator)
        for centre in centres.items()
    )
    minima = np.fmin.reduce(seconds, axis=(1, 2))
    within = median(_relative(mad(seconds, medians), medians))
    between = relative_spread(medians, additive=additive)
    num_blocks = count(seconds).sum(axis=-1)
    outliers = np.stack(count_outliers(seconds, fences_at(first, third)), axis=-1).sum(axis=1)
    return tuple(
        Summary(
            case=case,
            phase=phase,
            median=by_median[i],
            mean=by_mean[i],
            minimum=float(minima[i]),
            spread_within=float(within[i]),
            spread_between=float(between[i]),
            num_blocks=int(num_blocks[i]),
            outliers=OutlierCounts(
                **dict(zip(OutlierCounts.__struct_fields__, outliers[i].tolist(), strict=True))
            ),
        )
        for i, phase in enumerate(times.phases)
    )


def _estimates(
    seconds: FloatArray,
    statistic: Statistic,
    centres: FloatArray,
    *,
    additive: BoolArray,
    confidence: float,
    generator: np.random.Generator,
) -> list[Estimate]:
    """One per phase: over launches where there are several, over the blocks of the only one otherwise."""
    num_launches = count(centres).tolist()
    if seconds.shape[1] > 1:
        interval, method = level(centres, confidence=confidence, additive=additive), Method.T_LAUNCHES
    else:
        interval = resample_launch(seconds[:, 0], statistic, confidence=confidence, generator=generator)
        method = Method.BOOTSTRAP_BLOCKS
    return to_estimates(interval, num_launches, confidence=confidence, method=method)


def _relative(spread: FloatArray, centre: FloatArray) -> FloatArray:
    """Spread over centre; 0 where the centre is 0, NaN where there is none."""
    size = np.abs(centre)
    return np.where(size == 0.0, 0.0, spread / np.where(size == 0.0, 1.0, size))
