"""Unrest of a core: what the times of one piece of work, repeated without pause, say about who else ran.

Method.       A slice is slow against the fastest of all. A gap is a slice that lost a millisecond or more
              against the median slice: no cache miss takes that long, so the core was given to someone else.
              Gaps are periodic where nearly all distances between their starts are near one, two or three
              times the median distance.
Formula.      periodic if at least PERIODIC of the distances d have |d/m - round(d/m)| <= NEAR with round(d/m)
              in 1..3, m the median distance, and there are MIN_GAPS gaps.
Assumptions.  The work is the same in every slice and slices are short against the gaps' distance.
Source.       Probes of a fixed quantum of work: Sottile and Minnich, "Analysis of microbenchmarks for
              performance tuning of clusters", CLUSTER 2004. The thresholds are from simulation
              (tests/stats/test_unrest.py): gaps at random pass for periodic in under 1 % of probes.
Fails.        A period shorter than a few slices, or longer than a seventh of the probe, is not seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepmark.stats.arrays import FloatArray

SLOW, VERY_SLOW = 1.1, 1.5
GAP = 0.001
"""Seconds lost."""
MIN_GAPS = 8
NEAR = 0.1
PERIODIC = 0.8
MOST_MULTIPLE = 3


class Unrest(NamedTuple):
    """Shares of slow slices, and the gaps."""

    fastest: float
    slow: float
    very_slow: float
    num_gaps: int
    longest_gap: float
    period: float | None


def unrest(starts: FloatArray, ends: FloatArray) -> Unrest:
    """From the moments, in seconds, at which each slice began and ended; at least one slice."""
    times = ends - starts
    fastest = float(times.min())
    lost = times - np.median(times)
    gaps = lost >= GAP
    return Unrest(
        fastest=fastest,
        slow=float(np.mean(times > SLOW * fastest)),
        very_slow=float(np.mean(times > VERY_SLOW * fastest)),
        num_gaps=int(gaps.sum()),
        longest_gap=float(lost[gaps].max(initial=0.0)),
        period=_period(starts[gaps]),
    )


def _period(moments: FloatArray) -> float | None:
    if moments.size < MIN_GAPS:
        return None
    distances = np.diff(moments)
    middle = float(np.median(distances))
    if middle <= 0.0:
        return None
    multiples = distances / middle
    whole = np.rint(multiples)
    near = (np.abs(multiples - whole) <= NEAR) & (whole >= 1) & (whole <= MOST_MULTIPLE)
    return middle if float(near.mean()) >= PERIODIC else None
