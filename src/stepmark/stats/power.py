"""Power of a comparison over launches: the smallest effect it can see, and the launches a question needs.

Formula.      detectable = ( t(n-1, (1+c)/2) + t(n-1, p) ) s / sqrt(n)
              the effect, on the logarithmic scale, that an interval of confidence c over n launches tells
              from its reference with probability p; s is the standard deviation between launches.
              needed = the smallest n whose detectable effect is at most the distance to be told apart.
              needed_inside = the smallest n whose interval lies between both edges +-m of the margin with
              probability p, for an effect a inside it: F((m-a)/e - t) + F((m+a)/e - t) - 1 >= p, e =
              s/sqrt(n).
Assumptions.  Launches independent, their centres roughly normal, s known well enough (from a pilot of five
              launches it is off by a third either way, and the answer by two thirds).
Source.       Lehr, "Sixteen s-squared over d-squared", Statistics in Medicine 11 (1992), with t for z: adding
              the two quantiles is exact for z and errs by under 5 % from ten launches on.
Fails.        With one launch nothing is known about s. Where s comes from the same data as the effect, the
              answer describes this run, not the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import stdtr, stdtrit


def detectable(deviation: float, num: int, *, confidence: float, power: float = 0.8) -> float:
    """The smallest effect, as a difference of logarithms, seen with probability `power`; infinite for n <
    2."""
    if num < 2:
        return math.inf
    factors = stdtrit(num - 1, 0.5 + confidence / 2.0) + stdtrit(num - 1, power)
    return float(factors) * deviation / math.sqrt(num)


def needed(
    deviation: float, distance: float, *, confidence: float, power: float = 0.8, most: int = 100_000
) -> int | None:
    """Launches that tell an effect at this distance from the margin; None where `most` would not do."""
    return _fewest(
        lambda num: detectable(deviation, num, confidence=confidence, power=power) <= distance, most=most
    )


def needed_inside(
    deviation: float,
    point: float,
    *,
    margin: float,
    confidence: float,
    power: float = 0.8,
    most: int = 100_000,
) -> int | None:
    """Launches whose interval fits between both edges of the margin, for an effect inside it."""

    def fits(num: int) -> bool:
        if num < 2:
            return False
        if deviation == 0.0:
            return True
        error = deviation / math.sqrt(num)
        half = stdtrit(num - 1, 0.5 + confidence / 2.0)
        edges = [stdtr(num - 1, (margin + side * abs(point)) / error - half) for side in (-1.0, 1.0)]
        return float(sum(edges)) - 1.0 >= power

    return _fewest(fits, most=most)


def _fewest(enough: Callable[[int], bool], *, most: int) -> int | None:
    """The smallest number from 2 that is enough, where more is never worse; None where `most` is not."""
    if not enough(most):
        return None
    low, high = 2, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low
