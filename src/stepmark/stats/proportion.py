"""A proportion and its interval: k of n, and what that says about the rate behind it.

Formula.      low  = B(alpha/2; k, n-k+1), high = B(1-alpha/2; k+1, n-k), B the quantile of the beta
              distribution; low is 0 for k = 0, high is 1 for k = n.
Assumptions.  The n trials are independent and share one rate.
Source.       Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the
              binomial", Biometrika 26 (1934).
Fails.        Never covers too rarely, at the price of width: with few trials it covers well above its level
              (Brown, Cai and DasGupta, "Interval estimation for a binomial proportion", Statistical Science
              16, 2001). A promise that it refutes is refuted indeed, which is what it is for here.
"""

from __future__ import annotations

from typing import NamedTuple

from scipy.special import betaincinv


class Proportion(NamedTuple):
    """Bounds of a rate."""

    low: float
    high: float


def proportion_interval(num: int, of: int, *, confidence: float) -> Proportion:
    """Of the rate behind `num` successes in `of` trials; everything is possible after none."""
    if not 0 <= num <= of:
        raise ValueError(f"{num} of {of} is no proportion")
    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(num, of - num + 1, tail)) if num else 0.0
    high = float(betaincinv(num + 1, of - num, 1.0 - tail)) if num < of else 1.0
    return Proportion(low, high)
