"""Steadiness: a test of warm, not of quiet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.measure.steady import LEAST, TOLERANCE, WINDOW, is_steady
from tests.support.properties import steady

levels = st.floats(1e-6, 1e3)


@steady
@given(st.lists(levels, max_size=LEAST - 1))
def test_too_few_blocks_are_never_steady(times: list[float]) -> None:
    assert not is_steady(times)


@steady
@given(levels, st.lists(st.floats(0.95, 1.05), min_size=LEAST, max_size=20))
def test_ordinary_noise_around_a_level_is_steady(level: float, noise: list[float]) -> None:
    assert is_steady([level * one for one in noise])


@steady
@given(st.lists(levels, min_size=LEAST, max_size=20))
def test_getting_slower_is_not_warming_up(times: list[float]) -> None:
    assert is_steady(sorted(times))


@steady
@given(levels, st.floats(0.1, 0.89), st.integers(LEAST, 20))
def test_every_block_much_faster_than_the_last_is_warming_up(level: float, factor: float, count: int) -> None:
    assert not is_steady([level * factor**i for i in range(count)])


@steady
@given(st.lists(levels, min_size=WINDOW, max_size=20), st.lists(levels, max_size=20))
def test_only_the_recent_blocks_count(recent: list[float], long_ago: list[float]) -> None:
    assert is_steady(long_ago + recent) == is_steady(recent[-WINDOW:])


def test_a_slow_start_is_forgotten_when_it_leaves_the_earlier_half() -> None:
    times = [50.0, 30.0, 20.0, *[10.0] * 6]
    assert [is_steady(times[:n]) for n in range(3, 10)] == [False, False, False, False, False, True, True]


@pytest.mark.parametrize(("drop", "expected"), [(TOLERANCE - 0.001, True), (TOLERANCE + 0.001, False)])
def test_the_tolerance_is_between_halves(drop: float, expected: bool) -> None:
    assert is_steady([1.0] * 3 + [1.0 - drop] * 3) is expected


def test_blocks_too_short_for_the_clock_are_steady() -> None:
    assert is_steady([0, 0, 0])
