"""Criterion's comparison: two samples of averages, how far their means are apart, and what it says about it.

Method.       The relative change of the mean with a two-sample percentile bootstrap: the square root of the
              number of resamples is drawn from the new sample, and each of these meets as many fresh ones of
              the old. Whether there is a change at all is a test: Welch's t of the two samples among the t of
              resamples of both pooled, split into parts of the same sizes.
Formula.      change = mean(new) / mean(old) - 1
              t = (mean(new) - mean(old)) / sqrt(var(new)/n + var(old)/m),  var with n-1
              p = 2 min(#{t* < t}, #{t* >= t}) / #{t*}      over the finite t*
              p >= 0.05: no change; else the interval beyond +-1 %: regressed or improved; else noise.
Assumptions.  Values of a sample independent, both samples from the same machine in the same mood.
Source.       The comparison of Criterion.rs 0.5.1 (Apache-2.0/MIT), restated, not copied.
Fails.        Often: two runs of identical code are two processes at two times. Their levels differ by more
              than 1 %, and the test, which sees only the spread inside each, finds it significant.

Speed.        The t* need mean and variance of each part, so sums and sums of squares are drawn together, two
              values at a time from tables of pairs as in resample.py.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from stepmark.stats.arrays import FloatArray, mean
from stepmark.stats.criterion_estimate import LEVELS, NUM_RESAMPLES
from stepmark.stats.quantile import quantiles
from stepmark.stats.resample import CHUNK_DRAWS, MAX_PAIRED, replicates

NOISE_THRESHOLD = 0.01
SIGNIFICANCE = 0.05
ROUNDING = 1e-12
"""A variance below this share of the pooled sample's is a rounding error: the values are equal."""


class Sentence(StrEnum):
    """What Criterion says about a change, a closed list."""

    NO_CHANGE = "No change in performance detected."
    IMPROVED = "Performance has improved."
    REGRESSED = "Performance has regressed."
    NOISE = "Change within noise threshold."


class Change(NamedTuple):
    """The relative change of the mean: 0.02 is 2 % slower."""

    low: float
    point: float
    high: float
    p_value: float
    sentence: Sentence


def compare_samples(
    new: FloatArray,
    old: FloatArray,
    *,
    generator: np.random.Generator,
    num_resamples: int = NUM_RESAMPLES,
    noise_threshold: float = NOISE_THRESHOLD,
    significance: float = SIGNIFICANCE,
) -> Change:
    """Two samples of times per iteration, at least two values in each."""
    if min(new.size, old.size) < 2 or not (np.isfinite(new).all() and np.isfinite(old).all()):
        raise ValueError("a comparison needs two finite values at least on either side")
    low, high = quantiles(_resampled_changes(new, old, num_resamples, generator), LEVELS).tolist()
    p_value = _p_value(new, old, num_resamples, generator)
    return Change(
        low=low,
        point=float(mean(new) / mean(old) - 1.0),
        high=high,
        p_value=p_value,
        sentence=_sentence(low, high, noise_threshold, significant=p_value < significance),
    )


def _sentence(low: float, high: float, threshold: float, *, significant: bool) -> Sentence:
    if not significant:
        return Sentence.NO_CHANGE
    if high < -threshold:
        return Sentence.IMPROVED
    return Sentence.REGRESSED if low > threshold else Sentence.NOISE


def _resampled_changes(
    new: FloatArray, old: FloatArray, num_resamples: int, generator: np.random.Generator
) -> FloatArray:
    """100 000 resamples are 317 of the new sample, each against 316 of the old (the last against fewer)."""
    num_new = math.ceil(math.sqrt(num_resamples))
    each = math.ceil(num_resamples / num_new)
    new_means = replicates(new, "mean", num_resamples=num_new, generator=generator)
    old_means = replicates(old, "mean", num_resamples=num_resamples, generator=generator)
    return np.repeat(new_means, each)[:num_resamples] / old_means - 1.0


def _p_value(new: FloatArray, old: FloatArray, num_resamples: int, generator: np.random.Generator) -> float:
    """1 where nothing varies and there is no t at all."""
    pooled = np.concatenate([new, old])
    parts = [_drawn_moments(pooled, part.size, num_resamples, generator) for part in (new, old)]
    drawn = _welch(*parts)
    drawn = drawn[np.isfinite(drawn)]
    if drawn.size == 0:
        return 1.0
    t = _welch(*(Moments(mean(part), part.var(ddof=1), part.size) for part in (new, old)))
    num_below = int(np.count_nonzero(drawn < t))
    return 2.0 * min(num_below, drawn.size - num_below) / drawn.size


class Moments(NamedTuple):
    """Mean and variance of `size` values, or of many resamples of them."""

    mean: FloatArray
    variance: FloatArray
    size: int


def _welch(new: Moments, old: Moments) -> FloatArray:
    """Infinite or NaN where nothing varies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t: FloatArray = (new.mean - old.mean) / np.sqrt(new.variance / new.size + old.variance / old.size)
    return t


def _drawn_moments(
    pool: FloatArray, size: int, num_resamples: int, generator: np.random.Generator
) -> Moments:
    """Of resamples of `size` values from a larger pool."""
    centred = pool - pool[0]  # equal values then have a variance of exactly 0
    paired = pool.size <= MAX_PAIRED
    table, num_draws = (_pairs(centred), size // 2) if paired else (_values(centred), size)
    sums = np.zeros((2, num_resamples))
    columns = max(1, CHUNK_DRAWS // max(num_draws, 1))
    for start in range(0, num_resamples, columns):
        chunk = sums[:, start : start + columns]
        positions = generator.integers(table.shape[-1], size=(num_draws, chunk.shape[-1]))
        for i, values in enumerate(table):
            chunk[i] += values.take(positions).sum(axis=0)
    if paired and size % 2:
        sums += _values(centred)[:, generator.integers(pool.size, size=num_resamples)]
    means = sums[0] / size
    variances = (sums[1] - size * means**2) / (size - 1)
    variances[variances < ROUNDING * centred.var()] = 0.0
    return Moments(pool[0] + means, variances, size)


def _values(values: FloatArray) -> FloatArray:
    return np.stack([values, values**2])


def _pairs(values: FloatArray) -> FloatArray:
    """Sums and sums of squares of every two values."""
    singles = _values(values)
    return (singles[:, :, None] + singles[:, None, :]).reshape(2, -1)
