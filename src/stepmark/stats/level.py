"""The level of a time: one centre per launch, an interval over launches.

Method.       Launches differ by factors (another memory layout, another clock frequency), so their centres
              are averaged as logarithms: the point is a geometric mean, the bounds are exp of Student's.
Formula.      exp( t_interval( log c[1], ..., log c[k] ) ) for the centres c of k launches.
              A quantity that is a difference (`additive`), or has a centre that is not positive, has no
              logarithm and is averaged as it is: t_interval( c[1], ..., c[k] ).
              The spread is the standard deviation on the same scale, over the mean where that is plain.
Assumptions.  Launches independent, the logarithm of their centres roughly normal.
Source.       Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013: replicate at the
              highest level that varies.
Fails.        Processes with two states (some slow for their whole life): the interval is honest but wide,
              and the point lies between the states, where no process ever is.
"""

from __future__ import annotations

import numpy as np

from stepmark.stats.arrays import BoolArray, FloatArray, Interval, deviation, mean
from stepmark.stats.student import exponentiate, t_interval

FURTHEST_PLAIN = 1e9
"""As far as a bound lies from a plain point of which one launch alone tells, in seconds: thirty years.
Infinity is no number in JSON."""


def level(centres: FloatArray, *, confidence: float, additive: bool | BoolArray = False) -> Interval:
    """Of one centre per launch along the last axis; `additive` rows are averaged without logarithm."""
    scaled, plain = to_scale(centres, additive=additive)
    arithmetic = t_interval(scaled, confidence=confidence)
    geometric = exponentiate(arithmetic)
    finite = _finite(arithmetic)
    return Interval(*(np.where(plain, a, g) for a, g in zip(finite, geometric, strict=True)))


def _finite(interval: Interval) -> Interval:
    point, low, high = interval
    return Interval(
        point,
        np.where(np.isinf(low), point - FURTHEST_PLAIN, low),
        np.where(np.isinf(high), point + FURTHEST_PLAIN, high),
    )


def relative_spread(centres: FloatArray, *, additive: bool | BoolArray = False) -> FloatArray:
    """Standard deviation of the logarithms; without them, of the centres over their mean, 0 if that is 0."""
    scaled, plain = to_scale(centres, additive=additive)
    size = np.abs(mean(centres))
    unit = np.where(plain, np.where(size > 0.0, size, np.inf), 1.0)
    return deviation(scaled) / unit


def to_scale(centres: FloatArray, *, additive: bool | BoolArray) -> tuple[FloatArray, BoolArray]:
    """The centres on the scale on which their row is averaged, and which rows have no logarithm."""
    plain = np.any(centres <= 0.0, axis=-1) | additive
    logs = np.log(np.where(plain[..., None], 1.0, centres))
    return np.where(plain[..., None], centres, logs), plain
