"""Criterion's estimate: the time of an iteration from samples of so many iterations each.

Method.       A sample is a point (iterations x, time y). Where the iterations grow as in a linear plan
              (criterion_plan.py), the time is the slope of the least-squares line through the origin;
              otherwise the mean of the averages y/x. The interval is a percentile bootstrap over samples.
Formula.      slope = sum(x y) / sum(x^2)      mean = sum(y / x) / n
              bounds: Q(0.025) and Q(0.975) of 100 000 resamples (quantile.py)
Assumptions.  Samples independent. A slope weighs a sample by the square of its iterations, so these must not
              depend on how fast it was.
Source.       The analysis of Criterion.rs 0.5.1 (Apache-2.0/MIT), restated, not copied.
Fails.        Samples of one process say nothing about the next one, and neighbours in time resemble each
              other: the interval is then several times too narrow.
"""

from __future__ import annotations

import numpy as np

from stepmark.stats.arrays import FloatArray, Interval, mean
from stepmark.stats.criterion_plan import Sampling
from stepmark.stats.quantile import quantiles
from stepmark.stats.resample import replicates

NUM_RESAMPLES = 100_000
LEVELS = (0.025, 0.975)
"""Of a 95 % interval."""


def sampling_of(iterations: FloatArray) -> Sampling:
    """Linear where the iterations are d, 2d, 3d, ... of a step d."""
    multiples = iterations[0] * np.arange(1, iterations.size + 1)
    linear = iterations.size > 1 and np.array_equal(iterations, multiples)
    return Sampling.LINEAR if linear else Sampling.FLAT


def estimate_time(
    iterations: FloatArray,
    totals: FloatArray,
    *,
    generator: np.random.Generator,
    num_resamples: int = NUM_RESAMPLES,
) -> Interval:
    """The time of one iteration, in the unit of `totals`; one value a sample in both."""
    if iterations.size == 0 or iterations.shape != totals.shape or not (iterations > 0).all():
        raise ValueError("an estimate needs samples, each with its iterations and its time")
    if sampling_of(iterations) is Sampling.LINEAR:
        products = np.stack([iterations * totals, iterations**2])
        point = products[0].sum() / products[1].sum()
        drawn = replicates(products, "mean", num_resamples=num_resamples, generator=generator)
        slopes: FloatArray = drawn[0] / drawn[1]
        return Interval(point, *quantiles(slopes, LEVELS))
    averages = totals / iterations
    means = replicates(averages, "mean", num_resamples=num_resamples, generator=generator)
    return Interval(mean(averages), *quantiles(means, LEVELS))
