"""Promised rates of change points, in simulation: false alarms, steps that are found, and intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepmark.stats.arrays import BoolArray
from stepmark.stats.segments import cuts_of, noise_of, segment_change
from tests.support.promised_rates import assert_at_least, assert_at_most
from tests.support.run_series import INDEPENDENT, MOODS, Draw

NUM = 400


def any_cut(draw: Draw, num: int, *, repeats: int = NUM) -> BoolArray:
    generator = np.random.default_rng(20261116)
    alarms = []
    for _ in range(repeats):
        logs = 0.02 * draw(generator, num)
        alarms.append(bool(cuts_of(logs, noise_of(logs))))
    return np.array(alarms)


@pytest.mark.parametrize("num", [10, 20, 50, 150])
@pytest.mark.parametrize("noise", INDEPENDENT)
def test_unchanged_series_are_left_whole(noise: str, num: int) -> None:
    assert_at_most(0.03, any_cut(INDEPENDENT[noise], num))


def test_a_long_series_is_left_whole_as_well() -> None:
    assert_at_most(0.03, any_cut(INDEPENDENT["only ever slower"], 1500, repeats=100))


@pytest.mark.parametrize("num", [20, 60])
@pytest.mark.parametrize(("noise", "promise"), [*zip(MOODS, (0.06, 0.1), strict=True)])
def test_moods_that_last_raise_false_alarms_to_a_stated_rate(num: int, noise: str, promise: float) -> None:
    assert_at_most(promise, any_cut(MOODS[noise], num))


@pytest.mark.parametrize(
    ("before", "after", "promise"),
    [(10, 10, 0.55), (20, 20, 0.8), (40, 10, 0.8), (50, 50, 0.97), (100, 10, 0.9)],
)
def test_five_per_cent_in_two_per_cent_noise_is_found(before: int, after: int, promise: float) -> None:
    generator = np.random.default_rng(20261116)
    found = []
    for _ in range(NUM):
        logs = generator.normal(0.0, 0.02, before + after)
        logs[before:] += math.log(1.05)
        cuts = cuts_of(logs, noise_of(logs))
        found.append(any(abs(cut - before) <= 2 for cut in cuts))
    assert_at_least(promise, np.array(found))


def test_the_size_of_a_clear_change_is_covered() -> None:
    """A step of 10 %, which is always found: where finding it is a matter of luck, sizes are overstated."""
    generator = np.random.default_rng(20261116)
    covered = []
    for _ in range(NUM):
        logs = generator.normal(0.0, 0.02, 60)
        logs[30:] += math.log(1.1)
        noise = noise_of(logs)
        cuts = cuts_of(logs, noise)
        if len(cuts) == 1:
            change = segment_change(logs[: cuts[0]], logs[cuts[0] :], noise, confidence=0.95)
            covered.append(bool(change.low <= math.log(1.1) <= change.high))
    assert len(covered) > 0.97 * NUM
    assert_at_least(0.95, np.array(covered))
