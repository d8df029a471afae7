"""Segments of a series: levels are found, single bad runs are not, and nothing depends on the unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.stats import segments
from stepmark.stats.arrays import FloatArray
from stepmark.stats.segments import (
    MIN_LENGTH,
    Noise,
    cuts_of,
    noise_of,
    segment_change,
    segment_mean,
)

NOISE = 0.02


def cut(logs: FloatArray) -> tuple[int, ...]:
    return cuts_of(logs, noise_of(logs))


def series(steps: list[tuple[int, float]], *, seed: int = 1, noise: float = NOISE) -> FloatArray:
    """Stretches of a length, each that much above the first."""
    generator = np.random.default_rng(seed)
    levels = np.concatenate([np.full(length, height) for length, height in steps])
    return np.asarray(levels + generator.normal(0.0, noise, levels.size))


logs = st.lists(st.floats(-20.0, 5.0, allow_nan=False), max_size=60).map(
    lambda values: np.array(values, dtype=np.float64)
)


@given(logs)
def test_cuts_leave_no_segment_too_short(values: FloatArray) -> None:
    edges = (0, *cut(values), values.size)
    lengths = np.diff(edges)
    assert edges == tuple(sorted(edges))
    assert len(edges) == 2 or lengths.min() >= MIN_LENGTH


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.floats(-5.0, 5.0))
def test_the_unit_of_time_does_not_matter(seed: int, unit: float) -> None:
    values = series([(20, 0.0), (15, 0.1), (10, 0.02)], seed=seed)
    assert cut(values) == cut(values + unit)


@settings(max_examples=50)
@given(st.integers(0, 10_000))
def test_backwards_in_time_the_noise_is_the_same(seed: int) -> None:
    values = series([(30, 0.0), (20, 0.1)], seed=seed)
    assert noise_of(values[::-1]) == pytest.approx(noise_of(values))


@given(logs.filter(lambda values: values.size > 1), st.floats(0.5, 0.999))
def test_a_mean_lies_in_its_interval(values: FloatArray, confidence: float) -> None:
    interval = segment_mean(values, noise_of(values), confidence=confidence)
    assert interval.low <= interval.point <= interval.high
    assert values.min() <= interval.point <= values.max()


def test_several_levels_are_found() -> None:
    assert cut(series([(25, 0.0), (25, 0.3), (25, -0.1), (25, 0.1)], noise=0.01)) == (25, 50, 75)


@pytest.mark.parametrize("place", [0, 1, 30, 58, 59])
@pytest.mark.parametrize("height", [-2.0, 0.5, 5.0])
def test_one_or_two_bad_runs_are_no_level(place: int, height: float) -> None:
    values = series([(60, 0.0)])
    assert cut(values) == ()
    values[place : place + 2] += height
    assert cut(values) == ()


def test_the_shortest_segment_can_be_the_newest() -> None:
    values = series([(40, 0.0), (MIN_LENGTH, 0.15)])
    assert cut(values) == (40,)


def test_few_points_and_equal_points_are_not_cut() -> None:
    assert cut(np.empty(0)) == cut(np.zeros(1)) == cut(np.zeros(200)) == ()
    assert cut(series([(4, 0.0), (5, 3.0)])) == ()


def test_a_coarse_clock_has_steps_of_its_own_and_they_are_no_noise() -> None:
    """Most neighbours are equal, so their differences say nothing."""
    values = np.repeat([0.0, 0.05], 20)
    assert noise_of(values).variance > 0.0
    assert cut(values) == (20,)


def test_noise_is_read_beside_a_step() -> None:
    values = series([(200, 0.0), (200, 1.0)])
    found = noise_of(values)
    assert found.variance**0.5 == pytest.approx(NOISE, rel=0.15)
    assert found.correlation < 0.2


def test_moods_are_seen_as_correlation() -> None:
    generator = np.random.default_rng(2)
    moods = np.zeros(4000)
    for run in range(1, moods.size):
        moods[run] = 0.6 * moods[run - 1] + generator.normal(0.0, 0.8 * NOISE)
    found = noise_of(moods)
    assert found.correlation == pytest.approx(0.6, abs=0.1)
    assert found.variance**0.5 == pytest.approx(NOISE, rel=0.15)


def test_correlation_widens_every_interval() -> None:
    before, after = series([(20, 0.0)]), series([(20, 0.1)], seed=2)
    calm, moody = Noise(NOISE**2, 0.0), Noise(NOISE**2, 0.5)
    for narrow, wide in (
        (segment_mean(before, calm, confidence=0.95), segment_mean(before, moody, confidence=0.95)),
        (
            segment_change(before, after, calm, confidence=0.95),
            segment_change(before, after, moody, confidence=0.95),
        ),
    ):
        assert wide.high - wide.low == pytest.approx(3.0**0.5 * (narrow.high - narrow.low))


@pytest.mark.parametrize("seed", range(5))
def test_long_series_are_cut_where_the_exact_search_cuts_them(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = series([(900, 0.0), (7, 0.1), (800, 0.0), (700, 0.03), (8, -0.1)], seed=seed)
    proposed = cut(values)
    monkeypatch.setattr(segments, "LONG", values.size)
    exact = cut(values)
    assert len(proposed) == len(exact) == 4
    assert np.abs(np.subtract(proposed, exact)).max() <= 2
