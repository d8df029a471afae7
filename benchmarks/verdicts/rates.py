"""Rates and smallest effects: the two numbers by which tools are compared here.

Smallest effect.  The threshold on |log ratio| is tuned on identical sides so that at most 5 % exceed it; the
                  effect is the shift that lifts 80 % of the same estimates above the threshold. Tuned and
                  tested on the same comparisons it flatters every tool alike; the interval is a bootstrap
                  over comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepmark.stats.arrays import FloatArray
from stepmark.stats.proportion import proportion_interval

FALSE_ALARMS = 0.05
POWER = 0.8
CONFIDENCE = 0.95
LEAST = 10
"""Comparisons below which no threshold is worth tuning."""
_RESAMPLES = 2000


class Rate(NamedTuple):
    """k of n with the interval of the rate behind it."""

    num: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.num / self.of if self.of else math.nan


def rate(hits: Sequence[bool]) -> Rate:
    bounds = proportion_interval(sum(hits), len(hits), confidence=CONFIDENCE)
    return Rate(sum(hits), len(hits), bounds.low, bounds.high)


def threshold(logs: FloatArray) -> float:
    """The smallest |log ratio| of these that at most 5 % of them exceed."""
    return float(_thresholds(logs))


def _thresholds(logs: FloatArray) -> FloatArray:
    """Along the last axis."""
    num = logs.shape[-1]
    limits: FloatArray = np.sort(np.abs(logs), axis=-1)[..., num - 1 - _share_of(num, FALSE_ALARMS)]
    return limits


def _share_of(num: int, share: float) -> int:
    """Rounded down, but 20 % of 40 is 8 though 1 - 0.8 is a little less than 0.2."""
    return math.floor(num * share + 1e-9)


class Effect(NamedTuple):
    """A slowdown as a fraction, with its interval."""

    value: float
    low: float
    high: float
    of: int


def smallest_effect(logs: Sequence[float], generator: np.random.Generator) -> Effect | None:
    """From log-ratios of identical sides; None where there are too few."""
    values = np.array(logs)
    if values.size < LEAST:
        return None
    drawn = _effects(generator.choice(values, size=(_RESAMPLES, values.size), replace=True))
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Effect(float(_effects(values)), float(low), float(high), values.size)


def _effects(logs: FloatArray) -> FloatArray:
    """Along the last axis."""
    left_behind = np.sort(logs, axis=-1)[..., _share_of(logs.shape[-1], 1.0 - POWER)]
    effects: FloatArray = np.expm1(np.maximum(0.0, _thresholds(logs) - left_behind))
    return effects
