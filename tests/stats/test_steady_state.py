"""Steady state: four courses, and where the last level begins."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.records.warmup import Course
from stepmark.stats.arrays import FloatArray
from stepmark.stats.steady import Steady, steady_state
from tests.support.properties import samples, steady, times

NUM = 50
PLACES = np.arange(NUM)
SHAPES: dict[str, tuple[FloatArray, Course, int | None]] = {
    "flat": (np.ones(NUM), Course.FLAT, 0),
    "first iteration compiles": (np.where(PLACES == 0, 5000.0, 1.0), Course.WARMS_UP, 1),
    "first three a third slower": (np.where(PLACES < 3, 1.3, 1.0), Course.WARMS_UP, 3),
    "the first and the third": (np.where((PLACES == 0) | (PLACES == 2), 5.0, 1.0), Course.WARMS_UP, 3),
    "ten per cent for ten": (np.where(PLACES < 10, 1.1, 1.0), Course.WARMS_UP, 10),
    "slower from 20 on": (np.where(PLACES >= 20, 1.2, 1.0), Course.SLOWS_DOWN, 20),
    "a late change": (np.where(PLACES >= 40, 0.8, 1.0), Course.NEVER_SETTLED, None),
    "a long drift": (np.linspace(1.5, 1.0, NUM), Course.NEVER_SETTLED, None),
}


def observed(shape: FloatArray, noise: float, num: int = 200) -> list[Steady]:
    generator = np.random.default_rng(20261115)
    return [steady_state(shape * np.exp(generator.normal(0.0, noise, shape.size))) for _ in range(num)]


@pytest.mark.parametrize("name", SHAPES)
def test_the_courses_of_known_series(name: str) -> None:
    shape, course, start = SHAPES[name]
    found = observed(shape, 0.02)
    assert Counter(one.course for one in found)[course] >= 0.95 * len(found)
    near = [
        one for one in found if one.start is not None and start is not None and abs(one.start - start) <= 2
    ]
    assert start is None or len(near) >= 0.9 * len(found)


def test_two_modes_are_flat() -> None:
    generator = np.random.default_rng(20261115)
    found = [steady_state(generator.choice([1.0, 1.4], NUM) * np.exp(generator.normal(0, 0.01, NUM))).course
             for _ in range(200)]  # fmt: skip
    assert Counter(found)[Course.FLAT] >= 0.95 * len(found)


def test_levels_within_the_tolerance_are_one() -> None:
    shape = np.where(PLACES < 20, 1.03, 1.0)
    generator = np.random.default_rng(1)
    series = shape * np.exp(generator.normal(0.0, 0.002, NUM))
    assert steady_state(series, tolerance=0.02)[:2] == (Course.WARMS_UP, 20)
    assert steady_state(series, tolerance=0.05)[:2] == (Course.FLAT, 0)


def test_a_spike_later_on_is_not_the_start() -> None:
    series = np.exp(np.random.default_rng(2).normal(0.0, 0.01, NUM))
    series[[1, 7, 30]] = 9.0
    assert steady_state(series).start == 0


@steady
@given(samples(times, min_size=0, max_size=60))
def test_every_series_has_one_answer(series: FloatArray) -> None:
    course, start, level = steady_state(series)
    assert (start is None) is (course is Course.NEVER_SETTLED)
    assert (start == 0) is (course is Course.FLAT)
    if start is not None:
        assert 3 * (series.size - start) >= series.size
        assert series.min() <= level * (1 + 1e-9)
        assert level <= series.max() * (1 + 1e-9)


@steady
@given(st.integers(0, 1000), st.floats(0.01, 100.0))
def test_a_slower_machine_changes_nothing(seed: int, factor: float) -> None:
    generator = np.random.default_rng(seed)
    series = SHAPES["ten per cent for ten"][0] * np.exp(generator.normal(0.0, 0.02, NUM))
    plain, scaled = steady_state(series), steady_state(series * factor)
    assert scaled[:2] == plain[:2]
    assert scaled.level == pytest.approx(plain.level * factor)


def test_nothing_never_settles() -> None:
    assert steady_state(np.array([]))[:2] == (Course.NEVER_SETTLED, None)
