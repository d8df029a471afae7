"""Spacing of values: evenly spaced by difference, or by factor, as 128, 256, 512 are.

Method.       Steps between neighbours are compared: as differences and as ratios. The values are geometric
              where ratios vary less than differences.
Formula.      v[0] < ... < v[n-1], all positive;  d[i] = v[i+1] - v[i],  r[i] = log v[i+1] - log v[i]
              geometric:  v[n-1] >= 4 v[0]  and  sd(r) / mean(r) < sd(d) / mean(d)
              With two values both deviations are 0, and the range alone decides.
Constant.     4: below it a logarithmic axis looks like a plain one.
Assumptions.  None; the values are what somebody chose.
Source.       Coefficient of variation: Pearson, "Regression, heredity and panmixia", 1896.
Fails.        Values that follow neither rule: the less bad of the two is told.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

LEAST_RANGE = 4.0


def is_geometric(values: Iterable[float]) -> bool:
    """Whether a logarithmic axis fits them; fewer than two different values are not."""
    ordered = np.unique(np.asarray(list(values), dtype=float))
    if len(ordered) < 2 or ordered[0] <= 0.0 or ordered[-1] < LEAST_RANGE * ordered[0]:
        return False
    if len(ordered) == 2:
        return True
    factors, differences = np.diff(np.log(ordered)), np.diff(ordered)
    return bool(factors.std() / factors.mean() < differences.std() / differences.mean())
