"""Welch's ratio of two runs: its properties, its error rate, and the choice of the centre."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from stepmark.stats.arrays import FloatArray, Interval, pad
from stepmark.stats.between_runs import BetweenRuns, Group, assumed, between_runs
from stepmark.stats.quantile import median
from stepmark.stats.unpaired import minimum, welch
from tests.support.properties import numbers, samples, steady

NOTHING = assumed(0.0)
logs = samples(st.floats(-1.0, 1.0), min_size=2, max_size=8)


def ratio(baseline: FloatArray, candidate: FloatArray, between: BetweenRuns = NOTHING) -> Interval:
    return welch(baseline, candidate, between, confidence=0.95)


@steady
@given(logs, logs, st.floats(0.0, 0.1))
def test_contains_its_point_and_inverts_with_the_sides(
    one: FloatArray, other: FloatArray, spread: float
) -> None:
    point, low, high = ratio(one, other, assumed(spread))
    assert low <= point <= high
    inverse = ratio(other, one, assumed(spread))
    assert inverse.point == pytest.approx(1.0 / point)
    assert inverse.low == pytest.approx(1.0 / high)
    assert inverse.high == pytest.approx(1.0 / low)


@steady
@given(logs, logs, st.floats(0.0, 0.1), st.floats(0.001, 0.1))
def test_a_spread_between_runs_widens_at_least_by_itself(
    one: FloatArray, other: FloatArray, spread: float, more: float
) -> None:
    wide = ratio(one, other, assumed(spread + more))
    assert wide.high / wide.point >= np.exp(1.96 * 2.0**0.5 * (spread + more)) * (1.0 - 1e-3)
    assert wide.point == pytest.approx(ratio(one, other, assumed(spread)).point)


@steady
@given(
    samples(st.floats(-1.0, 1.0), min_size=2, max_size=8),
    samples(st.floats(1.5, 3.0), min_size=2, max_size=8),
)
def test_without_a_spread_between_runs_it_is_scipys_welch(one: FloatArray, other: FloatArray) -> None:
    assume(min(one.std(), other.std()) > 1e-3)  # SciPy warns of nearly equal values
    interval = stats.ttest_ind(other, one, equal_var=False).confidence_interval(0.95)
    found = ratio(one, other)
    assert np.log([found.low, found.high]) == pytest.approx([interval.low, interval.high], rel=1e-6, abs=1e-9)


def test_rows_of_different_length_in_one_call() -> None:
    one, other = pad([[0.0, 0.1, 0.2], [1.0, 1.1]]), pad([[0.3, 0.5], [1.0, 1.2]])
    together = ratio(one, other)
    alone = ratio(np.array([1.0, 1.1]), np.array([1.0, 1.2]))
    assert together.high[1] == pytest.approx(alone.high)


@steady
@given(samples(numbers, max_size=7), st.integers(1, 9))
def test_the_minimum_is_that_of_all_choices(values: FloatArray, num: int) -> None:
    choices = combinations(values.tolist(), min(num, values.size))
    expected = np.mean([min(choice) for choice in choices])
    assert minimum(values, num=num) == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_the_minimum_of_rows_of_different_length() -> None:
    found = minimum(pad([[3.0, 1.0, 2.0], [5.0], []]), num=3)
    assert found[:2].tolist() == [1.0, 5.0]
    assert np.isnan(found[2])


def test_a_longer_launch_has_no_lower_minimum() -> None:
    """The plain minimum of 300 rounds lies 1 % below that of 20, the expected minimum of 20 does not."""
    generator = np.random.default_rng(20270115)
    short, long = (np.exp(generator.exponential(0.1, (400, num))) for num in (20, 300))
    fair = np.log(minimum(short, num=20)).mean() - np.log(minimum(long, num=20)).mean()
    naive = np.log(short.min(axis=-1)).mean() - np.log(long.min(axis=-1)).mean()
    assert abs(fair) < 0.001
    assert naive > 0.004


def false_alarms(
    *, num_launches: int, num_past: int, launch: float, run: float, known: bool, certain: bool = False
) -> float:
    """Share of intervals that miss 1, of comparisons of identical code; `num_past` runs of it are stored.

    `certain` takes the spread for as certain as if no launches had been subtracted from what was seen.
    """
    generator = np.random.default_rng(20270115)
    misses = 0
    num_trials = 1000
    for _ in range(num_trials):
        moods = generator.normal(0.0, run, (num_past + 2, 1))
        levels = moods + generator.normal(0.0, launch, (num_past + 2, num_launches))
        past = levels[2:]
        group = Group(levels=past.mean(axis=-1), errors=past.var(axis=-1, ddof=1) / num_launches)
        between = between_runs([group]) if known else NOTHING
        assert between is not None
        if certain:
            between = between._replace(total=between.variance)
        _, low, high = ratio(levels[0], levels[1], between)
        misses += not low <= 1.0 <= high
    return misses / num_trials


@pytest.mark.parametrize("launch", [0.02, 0.05])
@pytest.mark.parametrize("run", [0.01, 0.03])
@pytest.mark.parametrize("num_past", [3, 10])
def test_identical_code_raises_few_alarms_where_the_spread_is_known(
    launch: float, run: float, num_past: int
) -> None:
    """Launches wander by 2 to 5 %, runs by 1 to 3 %. The standard error of 5 % in 1000 trials is 0.7 %."""
    alarms = false_alarms(num_launches=12, num_past=num_past, launch=launch, run=run, known=True)
    assert alarms <= 0.05 + 2 * 0.007


def test_without_the_spread_between_runs_alarms_are_many() -> None:
    assert false_alarms(num_launches=12, num_past=3, launch=0.02, run=0.03, known=False) > 0.5


def test_a_spread_less_what_launches_explain_is_as_uncertain_as_the_whole() -> None:
    assert false_alarms(num_launches=12, num_past=3, launch=0.05, run=0.03, known=True, certain=True) > 0.09


def disturbed(generator: np.random.Generator, *, busy: float, shape: tuple[int, ...]) -> FloatArray:
    """Rounds of launches: noise of 0.5 %, and in busy rounds a neighbour that adds 15 % on average."""
    level = generator.normal(0.0, 0.01, (*shape[:-1], 1)) + generator.normal(0.0, 0.005, shape)
    hit = generator.random(shape) < busy
    return np.exp(level) * (1.0 + hit * generator.exponential(0.15, shape))


def test_disturbances_add_time_so_the_minimum_is_the_steadier_centre() -> None:
    """Why it is the default: runs whose neighbours keep between none and nine tenths of the rounds busy."""
    generator = np.random.default_rng(20270115)
    spreads: dict[str, list[float]] = {"median": [], "minimum": []}
    for _ in range(200):
        rounds = disturbed(generator, busy=generator.uniform(0.0, 0.9), shape=(8, 60))
        spreads["median"].append(float(np.log(median(rounds)).mean()))
        spreads["minimum"].append(float(np.log(minimum(rounds, num=60)).mean()))
    assert np.std(spreads["minimum"]) < 0.25 * np.std(spreads["median"])


def test_on_a_quiet_machine_the_minimum_costs_little() -> None:
    """Noise that goes both ways is what a median is for; the offset of launches is larger than both."""
    generator = np.random.default_rng(20270115)
    rounds = disturbed(generator, busy=0.0, shape=(2000, 60))
    by_median, by_minimum = np.log(median(rounds)).std(), np.log(minimum(rounds, num=60)).std()
    assert by_minimum < 1.1 * by_median
