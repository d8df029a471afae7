"""Serial correlation: how like its neighbours an observation is, and what that leaves of their number.

Method.       Autocorrelation by lag; from it the number of independent observations that would give a mean
              the same variance. Neighbouring lags are added in pairs, and pairs are summed as long as they
              are positive and made to fall: what follows is the estimator's own noise.
Formula.      r[k] = sum over t of (x[t] - m) (x[t+k] - m)  /  sum over t of (x[t] - m)^2
              g[j] = r[2j] + r[2j+1],  cut at the first g[j] <= 0,  g[j] := min(g[0], ..., g[j])
              n_eff = n / (2 sum of g - 1), never more than n and never less than 1
Assumptions.  The series is stationary: take drift and warm-up out first, or they pass for correlation.
Source.       Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7 (1992), section 3.3: initial
              monotone sequence. The sum over lags itself is older (Bayley and Hammersley 1946).
Fails.        Short series: noise cuts the sum early or late. Of white noise an eighth is lost (20 to 200
              observations); of 20 observations with r[1] = 0.6 half are credited where a quarter is true, of
              200 a little over a quarter. Alternating series (r[1] < 0) are worth more than n, which is not
              credited. Gaps inside a row count as observations at the mean.
"""

from __future__ import annotations

import numpy as np

from stepmark.stats.arrays import FloatArray, count, mean

LEAST = 4
"""Values in a row before its correlation is worth a look; below, and for equal values, it counts as none."""


def autocorrelation(values: FloatArray, *, max_lag: int) -> FloatArray:
    """At lags 0 to `max_lag`, along a new last axis; NaN for rows without spread. Rows may end in NaN."""
    length = values.shape[-1]
    centred = np.where(np.isnan(values), 0.0, values - mean(values)[..., None])
    scale = np.abs(centred).max(axis=-1, keepdims=True, initial=0.0)
    centred = np.divide(
        centred, scale, out=np.zeros_like(centred), where=scale > 0.0
    )  # squares must not vanish
    padded = 2 * max(length, 1)  # so that the end of a row does not meet its beginning
    spectrum = np.fft.rfft(centred, n=padded, axis=-1)
    products = np.fft.irfft(np.abs(spectrum) ** 2, n=padded, axis=-1)[..., : max_lag + 1]
    correlations = np.full((*values.shape[:-1], max_lag + 1), np.nan)
    there = min(max_lag, length - 1) + 1
    np.divide(products[..., :there], products[..., :1], out=correlations[..., :there], where=scale > 0.0)
    return correlations


def effective_size(values: FloatArray) -> FloatArray:
    """The number of independent observations behind the mean of each row; 0 of nothing."""
    num = count(values).astype(np.float64)
    num_pairs = max(values.shape[-1] // 2, 1)
    lags = autocorrelation(values, max_lag=2 * num_pairs - 1)
    pairs = lags[..., 0::2] + lags[..., 1::2]
    positive = np.logical_and.accumulate(np.nan_to_num(pairs, nan=-1.0) > 0.0, axis=-1)
    falling = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=-1)
    inflation = np.maximum(2.0 * falling.sum(axis=-1) - 1.0, 1.0)
    sized: FloatArray = np.where(num < LEAST, num, np.maximum(num / inflation, np.minimum(num, 1.0)))
    return sized
