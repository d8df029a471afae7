"""Change points: levels are found, spikes and modes are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray
from stepmark.stats.changepoint import change_points
from tests.support.properties import samples, steady, times

Draw = Callable[[np.random.Generator, int], FloatArray]

NOISES: dict[str, Draw] = {
    "normal": lambda g, n: np.exp(g.normal(0.0, 0.02, n)),
    "heavy tails": lambda g, n: np.exp(0.02 * g.standard_t(1.5, n)),
    "two modes": lambda g, n: g.choice([1.0, 1.4], n) * np.exp(g.normal(0.0, 0.01, n)),
    "two modes, coarse clock": lambda g, n: g.choice([1.0, 1.4], n),
    "a rare mode": lambda g, n: np.where(g.random(n) < 0.1, 1.4, 1.0) * np.exp(g.normal(0.0, 0.01, n)),
}


@pytest.mark.parametrize("num", [20, 60, 200])
@pytest.mark.parametrize("noise", NOISES)
def test_independent_noise_of_any_kind_is_left_whole(noise: str, num: int) -> None:
    generator = np.random.default_rng(20261115)
    false_alarms = sum(bool(change_points(NOISES[noise](generator, num))) for _ in range(400))
    # 2 % by construction; twice the standard error of 400 series is 1.4 %.
    assert false_alarms <= 0.05 * 400


def test_a_shift_of_five_per_cent_is_found_where_it_is() -> None:
    generator = np.random.default_rng(20261115)
    shift = 0.05 * (np.arange(60) >= 30)
    found = [change_points(np.exp(generator.normal(0.0, 0.02, 60) + shift)) for _ in range(300)]
    assert sum(len(cuts) == 1 for cuts in found) >= 0.95 * 300
    places = np.array([cuts[0] for cuts in found if len(cuts) == 1])
    assert np.mean(np.abs(places - 30) <= 2) >= 0.9


def test_several_levels() -> None:
    generator = np.random.default_rng(3)
    levels = np.repeat([1.0, 1.3, 0.9, 1.1], 25)
    assert change_points(levels * np.exp(generator.normal(0.0, 0.01, 100))) == (25, 50, 75)


@pytest.mark.parametrize("place", [0, 1, 30, 58, 59])
@pytest.mark.parametrize("size", [0.001, 2.0, 1e6])
def test_a_spike_is_not_a_level(place: int, size: float) -> None:
    generator = np.random.default_rng(5)
    series = np.exp(generator.normal(0.0, 0.02, 60))
    assert change_points(series) == ()
    series[place : place + 2] *= size
    assert change_points(series) == ()


@steady
@given(samples(times, max_size=40))
def test_cuts_lie_inside_and_ascend(series: FloatArray) -> None:
    cuts = change_points(series)
    assert list(cuts) == sorted(set(cuts))
    assert all(0 < cut < series.size for cut in cuts)


@steady
@given(st.integers(0, 10_000), st.floats(0.1, 10.0))
def test_only_the_order_of_values_counts(seed: int, power: float) -> None:
    generator = np.random.default_rng(seed)
    series = np.exp(generator.normal(0.0, 0.1, 40) + 0.3 * (np.arange(40) >= generator.integers(5, 35)))
    assert change_points(series**power) == change_points(series)


@steady
@given(st.integers(0, 10_000))
def test_backwards_the_cuts_are_the_same(seed: int) -> None:
    generator = np.random.default_rng(seed)
    series = generator.normal(0.0, 0.1, 50) + 0.5 * (np.arange(50) >= 20)
    mirrored = sorted(50 - cut for cut in change_points(series[::-1]))
    assert list(change_points(series)) == mirrored


@steady
@given(samples(times, max_size=10))
def test_a_handful_of_values_is_never_cut(series: FloatArray) -> None:
    assert change_points(series) == ()


def test_eleven_values_can_be() -> None:
    assert change_points(np.arange(11.0)) == (5,) or change_points(np.arange(11.0)) == (6,)


def test_what_is_not_there_is_passed_over() -> None:
    series = np.repeat([1.0, 2.0], 15) + np.linspace(0.0, 0.01, 30)
    gaps = np.insert(series, [3, 15, 30], np.nan)
    assert change_points(series) == (15,)
    assert change_points(gaps) == (17,)
    assert change_points(np.array([])) == change_points(np.full(20, 3.0)) == ()
