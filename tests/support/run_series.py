"""Made series of levels, one a run, as logarithms: noise of about one standard deviation, no change."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from stepmark.stats.arrays import FloatArray

Draw = Callable[[np.random.Generator, int], FloatArray]


def spiky(generator: np.random.Generator, num: int) -> FloatArray:
    """One run of twenty is a bad one."""
    return generator.normal(size=num) + 15.0 * (generator.random(num) < 0.05)


def coarse(generator: np.random.Generator, num: int) -> FloatArray:
    """As a clock shows it whose steps are wider than the noise."""
    shown: FloatArray = np.rint(0.6 * generator.normal(size=num)) / 0.6
    return shown


def moods(generator: np.random.Generator, num: int, *, share: float) -> FloatArray:
    """Every run shares some of the mood before it."""
    fresh = generator.normal(0.0, math.sqrt(1.0 - share**2), num + 30)
    mood = np.zeros(num + 30)
    for run in range(1, num + 30):
        mood[run] = share * mood[run - 1] + fresh[run]
    return mood[30:]


INDEPENDENT: dict[str, Draw] = {
    "normal": lambda generator, num: generator.normal(size=num),
    "heavy tails": lambda generator, num: generator.standard_t(3.0, num),
    "only ever slower": lambda generator, num: generator.exponential(size=num),
    "one run of twenty is bad": spiky,
    "one of two values": lambda generator, num: np.where(generator.random(num) < 0.3, 2.0, 0.0),
    "in steps of a coarse clock": coarse,
}
MOODS: dict[str, Draw] = {
    "0.3 of the mood before": lambda generator, num: moods(generator, num, share=0.3),
    "0.6 of the mood before": lambda generator, num: moods(generator, num, share=0.6),
}
