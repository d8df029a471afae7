"""The spread between runs: how far the level of unchanged code wanders from one run to the next.

Method.       Runs of the same code on the same machine form a group. Their levels scatter more than their
              launches explain, because load, temperature and memory differ from hour to hour. Groups are
              pooled: the wandering is the machine's, not the code's.
Formula.      m[g, i] = level of run i of group g, the mean of its launches' log centres
              w[g, i] = s^2 / n of its launches, the part of the scatter that they explain
              total    = sum over g of sum over i of (m[g, i] - mean of m[g])^2, over sum over g of (k[g] - 1)
              explained = mean of w over each group, weighted by k[g] - 1
              variance = max(0, total - explained),   degrees = sum over g of (k[g] - 1)
Assumptions.  Runs independent, their moods drawn from one roughly normal distribution.
Source.       The moment estimator of a random effect: Cochran, "The combination of estimates from different
              experiments", Biometrics 10 (1954); without weights, so that one long run does not decide.
Fails.        Runs made back to back share a mood and make it look smaller than from day to day. With few
              degrees the variance is known to a factor of several; the interval (unpaired.py) pays for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepmark.stats.arrays import FloatArray


class BetweenRuns(NamedTuple):
    """Variances of the logarithm of a level."""

    variance: float
    """Between runs, beyond what launches explain."""
    total: float
    """Of runs' levels, launches included: what was seen, and what the uncertainty of `variance` follows."""
    degrees: float
    """Degrees of freedom of `total`; infinite for a variance that is assumed."""


class Group(NamedTuple):
    """Runs of the same code: one value a run."""

    levels: FloatArray
    errors: FloatArray
    """Variance of each level, from its launches."""


def between_runs(groups: Sequence[Group]) -> BetweenRuns | None:
    """Pooled over groups; None where no group has two runs."""
    repeated = [group for group in groups if group.levels.size > 1]
    degrees = sum(group.levels.size - 1 for group in repeated)
    if not degrees:
        return None
    squares = sum(float(np.sum((group.levels - group.levels.mean()) ** 2)) for group in repeated)
    explained = sum(float(group.errors.mean()) * (group.levels.size - 1) for group in repeated) / degrees
    total = squares / degrees
    return BetweenRuns(variance=max(0.0, total - explained), total=total, degrees=float(degrees))


def assumed(deviation: float) -> BetweenRuns:
    """A standard deviation taken as known."""
    return BetweenRuns(variance=deviation**2, total=deviation**2, degrees=np.inf)
