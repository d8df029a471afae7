"""Promised rates: whether what happened in a simulation contradicts the rate that was promised.

A promise is contradicted where the rate behind the share that was counted lies beyond it, with a chance of
error of one in a thousand (Clopper and Pearson), so that the seed of a simulation does not matter.
"""

from __future__ import annotations

import numpy as np

from stepmark.stats.arrays import BoolArray, Interval
from stepmark.stats.proportion import Proportion, proportion_interval


def possible_rates(happened: BoolArray) -> Proportion:
    """The rates that what was counted does not contradict."""
    return proportion_interval(int(np.count_nonzero(happened)), happened.size, confidence=0.998)


def assert_at_most(promise: float, happened: BoolArray) -> None:
    assert possible_rates(happened).low <= promise, f"{happened.mean():.2%} of {happened.size}"


def assert_at_least(promise: float, happened: BoolArray) -> None:
    assert possible_rates(happened).high >= promise, f"{happened.mean():.2%} of {happened.size}"


def assert_above(rate: float, happened: BoolArray) -> None:
    """The rate is surely larger than this one."""
    assert possible_rates(happened).low > rate, f"{happened.mean():.2%} of {happened.size}"


def covers(interval: Interval, truth: float) -> BoolArray:
    """Which intervals contain it."""
    return np.asarray((interval.low <= truth) & (truth <= interval.high))
