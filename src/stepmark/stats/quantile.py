"""Quantiles, median and median absolute deviation: the one definition used everywhere.

Method.       Linear interpolation between order statistics, the default of NumPy, R and Excel.
Formula.      For sorted x[0] ... x[n-1] and level q: h = (n-1) q, j = floor(h),
              Q(q) = x[j] + (h - j) (x[j+1] - x[j]).
              median = Q(1/2);  mad = 1.4826 median |x - median|.
Constant.     1.4826 = 1 / Phi^-1(3/4): it makes the mad of normal data estimate their standard deviation.
Assumptions.  None on the distribution; finite values. NaN is absent (see arrays.py).
Source.       Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician 50
              (1996), type 7.
Fails.        Extreme levels of small samples: Q(0.01) of 20 values is close to the minimum, whatever the
              truth. The mad is 0 when more than half of the values are equal (a coarse clock).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepmark.stats.arrays import FloatArray, IntArray, count

MAD_TO_SD = 1.4826022185056018


def quantiles(values: FloatArray, levels: Sequence[float]) -> FloatArray:
    """One array per level, stacked in front; each reduces the last axis; NaN where nothing is there."""
    if values.shape[-1] == 0:
        return np.full((len(levels), *values.shape[:-1]), np.nan)
    ordered = np.sort(values, axis=-1)  # NaN sorts to the end
    last = np.maximum(count(ordered) - 1, 0)
    return np.stack([_interpolate(ordered, last, level) for level in levels])


def _interpolate(ordered: FloatArray, last: IntArray, level: float) -> FloatArray:
    position = level * last
    below = np.floor(position).astype(np.intp)
    above = np.minimum(below + 1, last)
    row_start = ordered.shape[-1] * np.arange(last.size).reshape(last.shape)
    x_below, x_above = ordered.take(row_start + below), ordered.take(row_start + above)
    between: FloatArray = x_below + (position - below) * (x_above - x_below)
    bounded: FloatArray = np.minimum(between, x_above)  # rounding must not carry it past its neighbour
    return bounded


def median(values: FloatArray) -> FloatArray:
    """Of what is there, along the last axis."""
    middle: FloatArray = quantiles(values, (0.5,))[0]
    return middle


def mad(values: FloatArray, medians: FloatArray | None = None) -> FloatArray:
    """Median absolute deviation from the median (given, if known), scaled to a standard deviation, along the
    last axis."""
    centre = median(values) if medians is None else medians
    return MAD_TO_SD * median(np.abs(values - centre[..., None]))
