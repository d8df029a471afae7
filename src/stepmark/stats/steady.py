"""Steady state: from which value on a series keeps its level.

Method.       The series is cut at its change points. Going back from the end, segments whose level is
              equivalent to that of the last one belong to the steady part, which is then cut again by
              itself: a drift has no end. A first iteration differs for reasons of its own, so where the
              first value of the steady part lies far outside the rest, it is taken off with its like.
Formula.      level[s] = median of log x in segment s
              steady while |level[s] - level[last]| <= log(1 + tolerance)
              taken off at the start: x outside the tolerance and Tukey's fences of the steady part
              (tukey.py), the inner ones for the first value and the outer ones for those that follow it
              with at most two ordinary values between
Classes.      flat; warms-up, slows-down: what comes before the steady part is slower, faster; never-settled:
              the steady part is shorter than a third of the series, so the change may well go on.
Assumptions.  Those of change_points: beyond the levels the noise is independent, of any distribution.
Source.       Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA 2017 (change points,
              equivalent segments, the classes; there, the last quarter of the series must be steady).
              Tukey, "Exploratory data analysis", 1977 (the fences).
Fails.        A machine that changes its mood once is told from a step that does only by looking at several
              launches. A warm-up of few iterations, smaller than the noise, is not seen. A drift that is
              small beside the noise over a third of the series counts as steady.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from stepmark.records.warmup import Course
from stepmark.stats.arrays import BoolArray, FloatArray
from stepmark.stats.changepoint import change_points
from stepmark.stats.quantile import median
from stepmark.stats.tukey import fences

TOLERANCE = 0.02
"""Levels closer than this count as the same."""
STEADY_SHARE = 1 / 3
"""Of the series that the steady part must have."""
MAX_GAP = 2
"""Ordinary values between two odd ones that still belong to the start."""


class Steady(NamedTuple):
    """How a series goes, and from where on it keeps its level."""

    course: Course
    start: int | None
    """Index of the first steady value; None where it never settles."""
    level: float
    """Median of the steady part, or, where it never settles, of its last segment."""


def steady_state(times: FloatArray, *, tolerance: float = TOLERANCE) -> Steady:
    """Of one series of positive times in their order; NaN is passed over."""
    logs = np.log(times)
    width = math.log1p(tolerance)
    tail = _steady_tail(logs, width)
    start = tail + _odd_start(logs[tail:], width)
    level = float(median(logs[start:]))
    num = times.size
    if not num or num - start < num * STEADY_SHARE:
        return Steady(Course.NEVER_SETTLED, None, math.exp(level))
    if start == 0:
        return Steady(Course.FLAT, 0, math.exp(level))
    before = float(np.nanmean(logs[:start]))
    return Steady(Course.WARMS_UP if before > level else Course.SLOWS_DOWN, start, math.exp(level))


def _steady_tail(logs: FloatArray, width: float) -> int:
    """Where the segments begin that are equivalent to the last."""
    edges = [0, *change_points(logs), logs.size]
    levels = [float(median(logs[begin:end])) for begin, end in pairwise(edges)]
    segment = len(levels) - 1
    while segment > 0 and abs(levels[segment - 1] - levels[-1]) <= width:
        segment -= 1
    if segment == 0:
        return 0
    # Ranked by itself, the tail may show a change that was small beside the first: a drift goes on.
    return edges[segment] + _steady_tail(logs[edges[segment] :], width)


def _odd_start(logs: FloatArray, width: float) -> int:
    """How many values at the start do not belong to the rest."""
    edges, centre = fences(logs), float(median(logs))
    first = _outside(logs[:1], edges.low_mild, edges.high_mild, centre=centre, width=width)
    if not first.any():
        return 0
    odd = _outside(logs, edges.low_severe, edges.high_severe, centre=centre, width=width)
    start = 1
    for place in np.flatnonzero(odd):
        if place > start + MAX_GAP:
            break
        start = int(place) + 1
    return start


def _outside(
    logs: FloatArray, low: FloatArray, high: FloatArray, *, centre: float, width: float
) -> BoolArray:
    """Which values lie outside both the fences and the tolerance."""
    outside: BoolArray = (logs > max(float(high), centre + width)) | (logs < min(float(low), centre - width))
    return outside
