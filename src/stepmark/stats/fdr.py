"""Many comparisons at once: which discoveries stand when chance had many tries.

Method.       Benjamini and Hochberg: sort the p-values of m comparisons; the k smallest are discoveries for
              the largest k with p[k] <= q k / m. Of what is called a discovery, on average at most q is
              false.
Assumptions.  p-values valid one by one; independent, or positively dependent as comparisons with one baseline
              are.
Source.       Benjamini and Hochberg, "Controlling the false discovery rate", JRSS B 57 (1995); Benjamini and
              Yekutieli, Annals of Statistics 29 (2001), for dependence. The computation is SciPy's.
Fails.        It controls a share of the discoveries, not the chance of any false one; in a sweep of identical
              things, where every discovery is false, the two are the same.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from stepmark.stats.arrays import BoolArray, FloatArray


def discoveries(p_values: FloatArray, *, rate: float) -> BoolArray:
    """Which of them stand at this false discovery rate."""
    if p_values.size < 2:
        return np.asarray(p_values <= rate)
    from scipy.stats import false_discovery_control  # half a second to import, and only sweeps need it

    adjusted: FloatArray = false_discovery_control(p_values)
    return np.asarray(adjusted <= rate)


def beyond_margin(point: float, error: float, num: int, *, margin: float) -> float:
    """p-value of a mean log-ratio as far beyond the margin, on either side, as this one, for Student's t over
    `num` launches; 1 inside the margin. `margin` is on the logarithmic scale.

    The truth that makes such a point likeliest is the nearer edge. It may then lie beyond the other edge too,
    which counts where the error is not small against the margin.
    """
    excess = abs(point) - margin
    if excess <= 0.0 or num < 2:
        return 1.0
    if error == 0.0:
        return 0.0
    nearer, farther = stdtr(num - 1, -excess / error), stdtr(num - 1, -(abs(point) + margin) / error)
    return float(nearer + farther)


def above_zero(point: float, error: float, num: int) -> float:
    """One-sided p-value of a mean as far above 0 as this one, for Student's t over `num` launches."""
    if num < 2:
        return 1.0
    if error == 0.0:
        return 0.0 if point > 0.0 else 1.0
    return float(stdtr(num - 1, -point / error))
