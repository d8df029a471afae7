"""How often change points are wrong under made noise: the tables in docs/history.md.

Run from the root of the repository: python -m benchmarks.segments
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.machine import machine_line
from benchmarks.simulations import per_cent, print_table
from stepmark.stats.arrays import BoolArray
from stepmark.stats.segments import cuts_of, noise_of
from tests.support.run_series import INDEPENDENT, MOODS, Draw

NUM_SERIES = 2000
LENGTHS = (10, 20, 50, 150, 500)
STEPS = (0.03, 0.05, 0.1)
SPLITS = ((5, 5), (10, 10), (20, 5), (20, 20), (40, 10), (100, 5), (100, 10), (50, 50))
NOISE = 0.02


def print_false_alarms() -> None:
    print(f"\nUnchanged series that are cut, in per cent of {NUM_SERIES}\n")
    rows = [
        [name, *(per_cent(_cut(draw, num)) for num in LENGTHS)]
        for name, draw in (INDEPENDENT | MOODS).items()
    ]
    print_table(["noise", *(f"{num} runs" for num in LENGTHS)], rows)


def print_found() -> None:
    print(f"\nSteps found within two runs of where they are, in per cent of {NUM_SERIES}, in 2 % noise\n")
    rows = [
        [f"{before} before, {after} after", *(per_cent(_found(before, after, step)) for step in STEPS)]
        for before, after in SPLITS
    ]
    print_table(["runs", *(f"{step:.0%}" for step in STEPS)], rows)


def _cut(draw: Draw, num: int) -> BoolArray:
    generator = np.random.default_rng(20261116)
    alarms = []
    for _ in range(NUM_SERIES):
        logs = NOISE * draw(generator, num)
        alarms.append(bool(cuts_of(logs, noise_of(logs))))
    return np.array(alarms)


def _found(before: int, after: int, step: float) -> BoolArray:
    generator = np.random.default_rng(20261116)
    found = []
    for _ in range(NUM_SERIES):
        logs = generator.normal(0.0, NOISE, before + after)
        logs[before:] += math.log1p(step)
        found.append(any(abs(cut - before) <= 2 for cut in cuts_of(logs, noise_of(logs))))
    return np.array(found)


if __name__ == "__main__":
    print(machine_line())
    print_false_alarms()
    print_found()
