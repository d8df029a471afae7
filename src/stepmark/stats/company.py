"""Does company change a level? One process's level against the levels of others.

Method.       A case runs alone in some launches and beside its neighbours in others. The difference of its
              mean log levels has Welch's t interval; company changes the level when the whole interval lies
              beyond TOLERANCE. With a single launch alone its spread is unknown and taken to be that of the
              others.
Formula.      d = mean(log company) - mean(log alone),  v = s1^2/n1 + s2^2/n2,
              d -+ t(f, (1+c)/2) sqrt(v),  f by Welch and Satterthwaite; n1 + n2 - 2 and one pooled s where n2
              = 1.
Assumptions.  Launches independent, log levels roughly normal.
Source.       Welch, "The generalization of Student's problem", Biometrika 34 (1947).
Fails.        Process levels differ by 2 to 5 % on a quiet machine and 15 % on a busy one, so one launch alone
              shows only gross effects; it is a reason to take more, never a verdict.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from stepmark.stats.arrays import FloatArray, Interval

CONFIDENCE = 0.99
TOLERANCE = math.log(1.05)
"""Levels closer than this are the same for the purpose: caches shared with a neighbour cost about that."""


def change_in_company(company: FloatArray, alone: FloatArray) -> Interval:
    """Of the log level, company minus alone; infinite where there is too little to say."""
    num, other = company.size, alone.size
    if num < 2 or other < 1:
        nothing = np.array(0.0)
        return Interval(nothing, nothing - np.inf, nothing + np.inf)
    difference = np.log(company).mean() - np.log(alone).mean()
    first = np.log(company).var(ddof=1)
    if other < 2:
        variance, freedom = first * (1.0 / num + 1.0), num - 1.0
    else:
        parts = first / num, np.log(alone).var(ddof=1) / other
        variance = sum(parts)
        below = parts[0] ** 2 / (num - 1) + parts[1] ** 2 / (other - 1)
        freedom = variance**2 / below if below > 0.0 else num + other - 2.0
    half = stdtrit(freedom, 0.5 + CONFIDENCE / 2.0) * np.sqrt(variance)
    return Interval(difference, difference - half, difference + half)


def is_changed(change: Interval) -> bool:
    """Whether the whole interval lies beyond the tolerance."""
    return bool(change.low > TOLERANCE or change.high < -TOLERANCE)
