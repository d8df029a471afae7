"""Bootstrap intervals: percentile and BCa, for the mean, the median or any function.

Percentile.   Quantiles (1-c)/2 and (1+c)/2 of the replicates (resample.py).
BCa.          The same with shifted levels, which correct bias and changing spread to second order:
                z0 = Phi^-1( share of replicates below the point, ties counted half )
                a  = sum d^3 / (6 (sum d^2)^1.5),  d[i] = mean of jackknife values - jackknife value i
                level(z) = Phi( z0 + (z0 + z) / (1 - a (z0 + z)) )  at z = Phi^-1( (1-+c)/2 )
Assumptions.  Values independent, and a sample large enough to stand for its source.
Source.       Efron, "Better bootstrap confidence intervals", JASA 82 (1987); Efron and Tibshirani, "An
              Introduction to the Bootstrap", 1993, chapters 13 and 14.
Fails.        Below about 20 values both are too narrow. Blocks of one launch are not independent, and no
              resampling of them contains the spread between processes: such an interval describes that
              launch and nothing else. For a median the correction of BCa is rough (few distinct replicates).

Where a skewed sample would leave the point outside, the bound is moved to the point.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from stepmark.stats.arrays import FloatArray, Interval
from stepmark.stats.quantile import quantiles
from stepmark.stats.resample import Statistic, evaluate, replicates


def percentile(
    values: FloatArray,
    statistic: Statistic,
    *,
    confidence: float,
    num_resamples: int,
    generator: np.random.Generator,
) -> Interval:
    """The percentile interval of a sample along the last axis; several rows share their resamples."""
    _check(values)
    drawn = replicates(values, statistic, num_resamples=num_resamples, generator=generator)
    levels = (0.5 - confidence / 2.0, 0.5 + confidence / 2.0)
    return _around(evaluate(values, statistic), drawn, levels)


def bca(
    values: FloatArray,
    statistic: Statistic,
    *,
    confidence: float,
    num_resamples: int,
    generator: np.random.Generator,
) -> Interval:
    """The bias-corrected and accelerated interval of one sample."""
    assert values.ndim == 1
    _check(values)
    point = evaluate(values, statistic)
    drawn = replicates(values, statistic, num_resamples=num_resamples, generator=generator)
    below = (np.count_nonzero(drawn < point) + np.count_nonzero(drawn <= point)) / 2.0
    share = np.clip(below, 0.5, num_resamples - 0.5) / num_resamples  # Phi^-1 of 0 and 1 is infinite
    bias = float(ndtri(share))
    acceleration = _acceleration(values, statistic)
    z = float(ndtri(0.5 + confidence / 2.0))
    return _around(point, drawn, (_shift(-z, bias, acceleration), _shift(z, bias, acceleration)))


def _check(values: FloatArray) -> None:
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError("a bootstrap needs at least one value, and finite values only")


def _around(point: FloatArray, drawn: FloatArray, levels: tuple[float, float]) -> Interval:
    low, high = quantiles(drawn, levels)
    return Interval(point, np.minimum(low, point), np.maximum(high, point))


def _shift(z: float, bias: float, acceleration: float) -> float:
    stretch = 1.0 - acceleration * (bias + z)
    if stretch <= 0.0:  # beyond the pole of the transformation lies the end of the distribution
        return 1.0 if bias + z > 0.0 else 0.0
    return float(ndtr(bias + (bias + z) / stretch))


def _acceleration(values: FloatArray, statistic: Statistic) -> float:
    without = _jackknife(values, statistic)
    deviations = without.mean() - without
    scale = np.abs(deviations).max()
    if scale == 0.0:
        return 0.0
    deviations = deviations / scale  # cubes of tiny numbers would vanish
    return float((deviations**3).sum() / (6.0 * (deviations**2).sum() ** 1.5))


def _jackknife(values: FloatArray, statistic: Statistic) -> FloatArray:
    """The statistic of the sample without each of its values."""
    n = values.size
    without = np.zeros(n)
    if n == 1:
        return without
    if statistic == "mean":
        without[:] = (values.sum() - values) / (n - 1)
    elif statistic == "median":
        ordered, left_out = np.sort(values), np.arange(n)
        below, above = (n - 2) // 2, (n - 1) // 2
        without[:] = 0.5 * (ordered[below + (below >= left_out)] + ordered[above + (above >= left_out)])
    else:
        for i in range(n):
            without[i] = evaluate(np.delete(values, i), statistic)
    return without
