"""Where the variance of a launch's centre lives, and how long a launch should be.

Method.       The spread of launches' centres is part rounds (a median of R noisy ratios) and part launch
              (memory layout, process, instance), which no number of rounds averages out:
                Var(centre) = tau^2 + sigma^2 / R
Formula.      error of a median: (x[u] - x[l]) sqrt(n) / (2 (u - l)), for the order statistics u and l at
              about 1.96 sqrt(n)/2 ranks on either side of it
              sigma^2 = mean of error^2 R,  tau^2 = max(0, Var(centres) - mean of error^2)
              A launch costs C seconds and each of its rounds c; the variance per second is least at
                R = sqrt( sigma^2 / tau^2 * C / c )
Assumptions.  Rounds of a launch nearly independent (their order is random and what they share cancels in the
              ratio); the costs do not change.
Source.       McKean and Schrader, "A comparison of methods for Studentizing the sample median",
              Communications in Statistics B 13 (1984); Kalibera and Jones, "Rigorous benchmarking in
              reasonable time", ISMM 2013, section 6, for the optimum.
Fails.        tau from a handful of launches is little more than a guess, often 0, and launches that are too
              long cost more than launches that are too short. It is therefore never taken for less than
              TRUSTED of the variance seen, nor for less than FLOOR.
"""

from __future__ import annotations

import numpy as np

from stepmark.stats.arrays import FloatArray, count, deviation

Z = 1.96
TRUSTED = 0.1
"""Least share of the launches' variance that is taken to be the launches' own."""
FLOOR = 0.001
"""Least relative standard deviation of two instances in one process: 0.3 to 0.5 % were measured."""


def error_of_median(values: FloatArray) -> FloatArray:
    """Standard error of the median of what is there, along the last axis; NaN of less than two."""
    ordered = np.sort(values, axis=-1)  # NaN sorts to the end
    num = count(ordered)
    reach = Z * np.sqrt(num) / 2.0
    low = np.clip(np.floor((num - 1) / 2.0 - reach), 0, None).astype(np.intp)
    high = np.clip(np.ceil((num - 1) / 2.0 + reach), 0, np.maximum(num - 1, 0)).astype(np.intp)
    ends = [np.take_along_axis(ordered, place[..., None], axis=-1)[..., 0] for place in (low, high)]
    width = np.maximum(high - low, 1)
    error: FloatArray = (ends[1] - ends[0]) * np.sqrt(num) / (2.0 * width)
    return np.where(num > 1, error, np.nan)


def between_launches(centres: FloatArray, errors: FloatArray) -> FloatArray:
    """tau: the spread of centres that the errors of their medians do not explain, along the last axis."""
    excess = deviation(centres) ** 2 - np.nanmean(errors**2, axis=-1)
    tau: FloatArray = np.sqrt(np.maximum(excess, 0.0))
    return tau


def best_rounds(
    centres: FloatArray, errors: FloatArray, num_rounds: FloatArray, *, launch_cost: float, round_cost: float
) -> float:
    """Rounds of a launch that make the most of a second, from launches along the last axis; several rows, one
    a variant, are taken together, because one row of a handful of launches knows tau badly."""
    seen = deviation(centres) ** 2
    explained = np.mean(errors**2, axis=-1)
    sigma2 = float(np.mean(errors**2 * num_rounds))
    tau2 = max(float(np.mean(seen - explained)), TRUSTED * float(np.mean(seen)), FLOOR**2)
    return float(np.sqrt(sigma2 / tau2 * launch_cost / round_cost))
