"""Regularity: work in every n-th step has it, random places and times of a timetable hardly ever do."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray
from stepmark.stats.regularity import CHANCE, LONGEST, SHARE, TURNS, far_blocks, regularity
from tests.support.properties import samples, steady, times

NOISE = 0.01


def stepped(
    num: int,
    *,
    period: int,
    size: int = 1,
    lead_in: int = 0,
    first: int = 0,
    heavy: float = 4.0,
    seed: int = 0,
) -> FloatArray:
    """Blocks of `size` steps after `lead_in` untimed ones, of which every `period`-th is heavy."""
    steps = first + np.arange(num * (lead_in + size)).reshape(num, lead_in + size)
    spent = np.where(steps[:, lead_in:] % period == period - 1, heavy, 1.0).mean(axis=1)
    blocks: FloatArray = spent * np.exp(np.random.default_rng(seed).normal(0.0, NOISE, num))
    return blocks


def at_random(num: int, num_far: int, generator: np.random.Generator, *, factor: float = 3.0) -> FloatArray:
    blocks: FloatArray = np.exp(generator.normal(0.0, NOISE, num))
    blocks[generator.permutation(num)[:num_far]] *= factor
    return blocks


# ── far blocks ──────────────────────────────────────────────────────────────────────────────────────


@steady
@given(samples(times))
def test_far_blocks_are_at_most_half_and_all_on_one_side(values: FloatArray) -> None:
    far, middle = far_blocks(values), float(np.median(values))
    assert 2 * far.sum() <= values.size
    assert np.all(values[far] > middle) or np.all(values[far] < middle)


@steady
@given(samples(times), st.floats(1e-3, 1e3))
def test_far_does_not_depend_on_the_unit(values: FloatArray, unit: float) -> None:
    excess = np.abs(values - np.median(values))
    assume(excess.sum() == 0.0 or np.all((excess == 0.0) | (excess > 1e-6 * values.max())))
    assume(abs(values.mean() - np.median(values)) > 1e-6 * values.max())
    near = np.abs(excess[:, None] / np.maximum(excess[None, :], 1e-300) - 0.5) < 1e-6
    assume(not near.any() and not np.any(np.abs(excess - 0.1 * np.median(values)) < 1e-6 * values.max()))
    assert far_blocks(values * unit).tolist() == far_blocks(values).tolist()


def test_noise_is_not_far_and_one_long_pause_does_not_hide_the_others() -> None:
    assert not far_blocks(np.exp(np.random.default_rng(0).normal(0.0, 0.02, 200))).any()
    blocks = stepped(100, period=5)
    blocks[1] = 12.0
    assert far_blocks(blocks).nonzero()[0].tolist() == [1, *range(4, 100, 5)]


def test_blocks_that_are_shorter_now_and_then_are_far_too() -> None:
    blocks = np.where(np.arange(60) % 4 == 1, 1.0, 3.0)
    assert far_blocks(blocks).nonzero()[0].tolist() == list(range(1, 60, 4))


# ── what is regular ─────────────────────────────────────────────────────────────────────────────────


@steady
@given(
    st.integers(2, 12),
    st.integers(1, 3),
    st.integers(0, 2),
    st.lists(st.integers(0, 11), min_size=3, max_size=6),
    st.integers(0, 2**32),
)
def test_work_in_every_nth_step_is_regular(
    period: int, size: int, lead_in: int, first: list[int], seed: int
) -> None:
    """Wherever the count of the steps begins in a stretch, and whatever a block takes of it."""
    stretches = [
        stepped(61, period=period, size=size, lead_in=lead_in, first=begin, seed=seed + i)
        for i, begin in enumerate(first)
    ]
    assume(sum(far_blocks(each).sum() >= 2 for each in stretches) >= 3)
    found = regularity(stretches)
    assert found is not None
    assert found.turn == period // gcd(period, size + lead_in)
    assert found.share == pytest.approx(1.0)
    assert found.chance < CHANCE


@steady
@given(st.integers(2, 12), st.integers(0, 2**32))
def test_a_few_blocks_that_were_interrupted_besides_do_not_hide_it(period: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    stretches = [stepped(96, period=period, seed=seed + i) for i in range(4)]
    for blocks in stretches:
        blocks[generator.permutation(96)[:1]] *= 4.0
    found = regularity(stretches)
    assert found is not None
    assert found.turn % period == 0


@steady
@given(st.lists(samples(times, max_size=60), max_size=5))
def test_shares_and_chances_are_what_they_are_called(stretches: list[FloatArray]) -> None:
    found = regularity(stretches)
    if found is not None:
        assert 2 <= found.turn <= LONGEST
        assert SHARE <= found.share <= 1.0
        assert 0.0 <= found.chance < CHANCE


# ── what is not ─────────────────────────────────────────────────────────────────────────────────────


def test_random_places_are_regular_in_less_than_one_case_in_a_thousand() -> None:
    """Three launches with ten far blocks each, at rates of a tenth to a half. A true rate of 1e-3 would show
    itself among 4000 with probability 0.98."""
    generator = np.random.default_rng(0)
    found = 0
    for num in (20, 23, 30, 50, 100):
        for _ in range(800):
            found += regularity([at_random(num, 10, generator) for _ in range(3)]) is not None
    assert found == 0


@pytest.mark.parametrize("jitter", [0.05, 0.1, 0.3])
def test_even_times_slip_through_the_places(jitter: float) -> None:
    """A timer strikes every 2 to 12 blocks, and now and then the neighbour instead, as turns are random."""
    generator = np.random.default_rng(1)
    for _ in range(150):
        every = generator.uniform(2.0, 12.0)
        stretches = []
        for _ in range(4):
            struck = np.cumsum(every * generator.normal(1.0, jitter, 100))
            struck = struck[(struck > 0.0) & (struck < 80.0) & (generator.random(100) < 0.6)]
            blocks = np.exp(generator.normal(0.0, NOISE, 80))
            blocks[struck.astype(int)] *= 2.0
            stretches.append(blocks)
        assert regularity(stretches) is None


@steady
@given(st.integers(0, 2**32), st.floats(0.1, 0.5))
def test_a_burst_is_not_regular(seed: int, share: float) -> None:
    """A neighbour was there for a while: the far blocks are next to each other."""
    generator = np.random.default_rng(seed)
    stretches = []
    for _ in range(4):
        blocks = np.exp(generator.normal(0.0, NOISE, 60))
        begin = int(generator.integers(0, 30))
        blocks[begin : begin + round(60 * share)] *= 2.0
        stretches.append(blocks)
    assert regularity(stretches) is None


def test_whole_stretches_that_are_slow_are_not_regular() -> None:
    """A block holds a whole turn, or where the lane's memory lies decides: there is nothing to fold."""
    even = [np.full(50, level) for level in (1.0, 3.0, 1.0, 3.0)]
    assert regularity(even) is None
    assert regularity([stepped(50, period=4, size=3, lead_in=1, first=begin) for begin in range(4)]) is None


def test_short_stretches_and_none_say_nothing() -> None:
    assert regularity([]) is None
    assert regularity([np.array([])]) is None
    assert regularity([stepped(TURNS * 5 - 1, period=5) for _ in range(40)]) is None
    assert regularity([stepped(TURNS * 5, period=5) for _ in range(40)]) is not None
    assert regularity([stepped(15, period=5)]) is None, "three in one place happen by chance"
