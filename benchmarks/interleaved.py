"""Calls timed side by side in one process: one block each in fresh random order, round after round."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import NamedTuple

import numpy as np

from stepmark.stats.arrays import FloatArray

BLOCK_SECONDS = 0.004
"""A block is at least so long, so that the clock does not matter."""
MIN_ROUNDS = 15


class Ratio(NamedTuple):
    """A median of ratios over rounds with the 95 % interval of a sign test."""

    centre: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.centre:.2f} [{self.low:.2f}, {self.high:.2f}]"


def interleave(calls: Mapping[str, Callable[[], object]], *, seconds: float) -> dict[str, FloatArray]:
    """Seconds of a call by name, one for each round."""
    iterations = {name: _iterations(call) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    order, shuffle = list(calls), random.Random(0).shuffle
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[order[0]]) < MIN_ROUNDS:
        shuffle(order)
        for name in order:
            times[name].append(_block(calls[name], iterations[name]))
    return {name: np.array(each) for name, each in times.items()}


def ratio(numerator: FloatArray, denominator: FloatArray) -> Ratio:
    """How many times longer the first takes."""
    ordered = np.sort(numerator / denominator)
    half = 1.96 * math.sqrt(ordered.size) / 2.0
    low, high = int(max(0, ordered.size / 2 - half)), int(min(ordered.size - 1, ordered.size / 2 + half))
    return Ratio(float(np.median(ordered)), float(ordered[low]), float(ordered[high]))


def _iterations(call: Callable[[], object]) -> int:
    call()
    once = min(_block(call, 1) for _ in range(5))
    return max(1, math.ceil(BLOCK_SECONDS / once))


def _block(call: Callable[[], object], iterations: int) -> float:
    begin = time.perf_counter()
    for _ in repeat(None, iterations):
        call()
    return (time.perf_counter() - begin) / iterations
