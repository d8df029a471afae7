"""Bootstrap replicates: a statistic of many samples drawn with replacement from one.

Method.       Three ways to the same distribution, each the fastest measured for its statistic.
  mean        The sum of two draws is one draw from the table of all n^2 pair sums: half the random numbers
              and half the look-ups. 100 000 resamples of 100 values: 25 ms, against 70 ms draw by draw.
  median      The r-th smallest of n uniform draws follows Beta(r, n-r+1), and below a known U(r) the next
              smaller one is U(r) V^(1/(r-1)), V uniform. A draw u picks the value x[floor(n u)] of the sorted
              sample, so two random numbers replace n draws and a sort: 8 ms, against 200 ms.
  other       Draw by draw, in chunks, through the caller's function.
Assumptions.  The values are independent and equally likely; finite.
Source.       Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7 (1979); David
              and Nagaraja, "Order Statistics", 2003, section 2.5, for the Beta and the conditional draw.
Fails.        As any bootstrap: a resample contains no value that was not in the sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from stepmark.stats.arrays import FloatArray, mean
from stepmark.stats.quantile import median

Statistic = Literal["mean", "median"] | Callable[[FloatArray], FloatArray]
"""By name, or a function that reduces the last axis."""

MAX_PAIRED = 512
"""Largest sample for which the pair table (n^2 doubles, here 2 MB) stays in the cache."""
CHUNK_DRAWS = 1 << 16
"""Draws at a time: half a megabyte of indices."""


def evaluate(values: FloatArray, statistic: Statistic) -> FloatArray:
    """The statistic along the last axis."""
    if statistic == "mean":
        return mean(values)
    if statistic == "median":
        return median(values)
    assert callable(statistic)
    return statistic(values)


def replicates(
    values: FloatArray, statistic: Statistic, *, num_resamples: int, generator: np.random.Generator
) -> FloatArray:
    """The statistic of `num_resamples` samples of the same size, in the order they were drawn.

    Samples lie along the last axis. Rows share their resamples: a draw takes the same position in all.
    """
    if statistic == "mean":
        return _means(values, num_resamples, generator)
    if statistic == "median":
        return _medians(values, num_resamples, generator)
    n = values.shape[-1]
    rows = max(1, CHUNK_DRAWS // values.size)
    drawn = []
    for start in range(0, num_resamples, rows):
        positions = generator.integers(n, size=(min(rows, num_resamples - start), n))
        drawn.append(evaluate(values[..., positions], statistic))
    return np.concatenate(drawn, axis=-1)


def _means(values: FloatArray, num_resamples: int, generator: np.random.Generator) -> FloatArray:
    n = values.shape[-1]
    origin = values[..., :1]
    centred = values - origin  # equal values then have exactly equal means
    paired = n <= MAX_PAIRED
    table, num_draws = (_pair_sums(centred), n // 2) if paired else (centred, n)
    sums = np.zeros((*values.shape[:-1], num_resamples))
    columns = max(1, CHUNK_DRAWS // (values.size // n * max(num_draws, 1)))
    for start in range(0, num_resamples, columns):
        chunk = sums[..., start : start + columns]
        positions = generator.integers(table.shape[-1], size=(num_draws, chunk.shape[-1]))
        chunk += table.take(positions, axis=-1).sum(axis=-2)
    if paired and n % 2:
        sums += centred.take(generator.integers(n, size=num_resamples), axis=-1)
    low, high = values.min(axis=-1, keepdims=True), values.max(axis=-1, keepdims=True)
    means: FloatArray = np.clip(origin + sums / n, low, high)
    return means


def _pair_sums(values: FloatArray) -> FloatArray:
    return (values[..., :, None] + values[..., None, :]).reshape(*values.shape[:-1], -1)


def _medians(values: FloatArray, num_resamples: int, generator: np.random.Generator) -> FloatArray:
    n = values.shape[-1]
    ordered = np.sort(values, axis=-1)
    rank = n // 2 + 1  # counted from 1: the upper of the two middle values, or the middle one
    upper = generator.beta(rank, n - rank + 1, size=num_resamples)
    above = ordered[..., np.minimum((n * upper).astype(np.intp), n - 1)]
    if n % 2:
        return above
    lower = upper * generator.random(num_resamples) ** (1.0 / (rank - 1))
    below = ordered[..., np.minimum((n * lower).astype(np.intp), n - 1)]
    return below + 0.5 * (above - below)
