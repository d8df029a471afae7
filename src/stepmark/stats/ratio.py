"""The ratio of two times, paired by round, replicated by launch.

Method.       Two lanes that run in the same round of the same process share its level and its moment; both
              cancel in the ratio of that round. What is left of a launch, the offset between two instances,
              only another launch averages out, so launches are the unit of the interval.
Formula.      r[l, i] = log case[l, i] - log baseline[l, i]      launch l, round i
              c[l]    = median over i of r[l, i]                 robust against disturbed rounds
              ratio   = exp( t_interval( c[1], ..., c[k] ) )
Assumptions.  Launches independent, c roughly normal; rounds of a launch need not be independent.
Source.       Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013 (the hierarchy);
              Student 1908 (the interval). Pooling all rounds instead makes it several times too narrow.
Fails.        When lanes do not share a process: its level does not cancel, the interval widens. When one lane
              always runs first or warms the cache of the other: the bias is the same in all launches, and no
              interval shows it.
"""

from __future__ import annotations

import numpy as np

from stepmark.stats.arrays import FloatArray, Interval
from stepmark.stats.student import exponentiate, t_interval


def log_ratios(case: FloatArray, baseline: FloatArray) -> FloatArray:
    """Per round; NaN where either has no time. Times must be positive."""
    return np.log(case) - np.log(baseline)


def ratio_of_centres(centres: FloatArray, *, confidence: float) -> Interval:
    """From one centre per launch along the last axis."""
    return exponentiate(t_interval(centres, confidence=confidence))
