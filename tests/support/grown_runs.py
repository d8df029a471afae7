"""Grown runs: cells that grow launch by launch and end where the stopping rule says, many at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from stepmark.stats.arrays import BoolArray, FloatArray, IntArray, Interval
from stepmark.stats.ratio import ratio_of_centres
from stepmark.stats.sequential import EARLY_SHARE, looks, share
from tests.support.promised_rates import covers

MARGIN = 0.01
ALPHA = 0.05


class Grown(NamedTuple):
    """How each run ended: arrays of variants by runs, but for launches and shares, which are by run."""

    launches: IntArray
    shares: FloatArray
    """Of alpha, at the look that ended the run."""
    low: FloatArray
    high: FloatArray

    @property
    def slower(self) -> BoolArray:
        return self.low > 1.0 + MARGIN

    @property
    def faster(self) -> BoolArray:
        return self.high < 1.0 / (1.0 + MARGIN)

    @property
    def equivalent(self) -> BoolArray:
        return (self.low >= 1.0 / (1.0 + MARGIN)) & (self.high <= 1.0 + MARGIN)

    @property
    def different(self) -> BoolArray:
        return self.slower | self.faster

    @property
    def decided(self) -> BoolArray:
        return self.different | self.equivalent

    def misses(self, truth: float) -> BoolArray:
        return ~covers(Interval(self.low, self.low, self.high), truth)


def grow(centres: FloatArray) -> Grown:
    """By the rule: centres of variants by runs by launches, the last axis as long as a run may become."""
    most = centres.shape[-1]
    plan = [(num, share(num, most=most, last=False)) for num in looks(most)]
    return _grow(centres, [*plan, (most, share(most, most=most, last=True))])


def grow_watched(centres: FloatArray, *, to_the_end: bool = True) -> Grown:
    """By the rule, and by somebody who looks at the unfinished run after every launch, and ends it where that
    decides."""
    most = centres.shape[-1]
    at_end = share(most, most=most, last=True) if to_the_end else EARLY_SHARE
    return _grow(centres, [*((num, EARLY_SHARE) for num in range(2, most)), (most, at_end)])


def grow_prolonged(centres: FloatArray, *, ends: Sequence[int]) -> Grown:
    """By the rule, if a run that came to its end and is open were prolonged to the next end, and so on."""
    most = centres.shape[-1]
    early = [(num, share(num, most=most, last=False)) for num in looks(most) if num < ends[-1]]
    late = [(num, share(num, most=most, last=True)) for num in ends]
    return _grow(centres, sorted([*early, *late]))


def grow_naively(centres: FloatArray, *, first: int = 5) -> Grown:
    """Looking after every launch at an interval that holds for one look."""
    return _grow(centres, [(num, 1.0) for num in range(first, centres.shape[-1] + 1)])


def _grow(centres: FloatArray, plan: Iterable[tuple[int, float]]) -> Grown:
    num_runs = centres.shape[1]
    ended = Grown(
        launches=np.zeros(num_runs, dtype=np.intp),
        shares=np.zeros(num_runs),
        low=np.zeros(centres.shape[:2]),
        high=np.zeros(centres.shape[:2]),
    )
    growing = np.ones(num_runs, dtype=np.bool_)
    for num, part in plan:
        interval = ratio_of_centres(centres[:, growing, :num], confidence=1.0 - ALPHA * part)
        ended.launches[growing], ended.shares[growing] = num, part
        ended.low[:, growing], ended.high[:, growing] = interval.low, interval.high
        growing &= ~ended.decided.all(axis=0)
    return ended
