"""Coverage of every interval, in simulation: how often it contains the truth it is about."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from stepmark.stats.arrays import BoolArray, FloatArray, Interval
from stepmark.stats.between_runs import BetweenRuns, Group, assumed, between_runs
from stepmark.stats.bootstrap import bca, percentile
from stepmark.stats.company import change_in_company
from stepmark.stats.level import level
from stepmark.stats.quantile import median
from stepmark.stats.ratio import ratio_of_centres
from stepmark.stats.resample import Statistic
from stepmark.stats.student import exponentiate, t_interval
from stepmark.stats.unpaired import welch
from tests.support.noise import (
    INSTANCE,
    NOISES,
    SHARED,
    Noise,
    Shape,
    autocorrelated,
    baseline_times,
    bimodal,
    centres,
    drifting,
    heavy_tailed,
    instance_offsets,
    launch_offsets,
    normal,
    rare_state,
    ratios,
    separate_with_slow_states,
    wandering_ratio,
)
from tests.support.promised_rates import assert_above, assert_at_least, assert_at_most, covers


def stacked(intervals: list[Interval]) -> Interval:
    return Interval(*(np.array(edges) for edges in zip(*intervals, strict=True)))


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("num_launches", [5, 12, 30])
def test_the_ratio_over_launches_keeps_its_confidence(name: str, num_launches: int) -> None:
    interval = ratio_of_centres(centres(name)[0, :, :num_launches], confidence=0.95)
    covered = covers(interval, 1.0)
    assert_at_least(0.95, covered)
    assert_at_most(0.97, covered)


@pytest.mark.parametrize("name", SHARED)
def test_the_ratio_over_launches_of_unequal_length_keeps_its_confidence(name: str) -> None:
    generator = np.random.default_rng(11)
    logs = ratios(NOISES[name], generator, Shape(2, 1000, 12, 31))[0]
    rounds = generator.integers(5, 32, (1000, 12, 1))
    logs[np.broadcast_to(np.arange(31), logs.shape) >= rounds] = np.nan
    assert_at_least(0.95, covers(ratio_of_centres(median(logs), confidence=0.95), 1.0))


@pytest.mark.parametrize(("noise", "share"), [(instance_offsets, 0.30), (autocorrelated, 0.35)])
def test_rounds_as_the_unit_miss_far_too_often(noise: Noise, share: float) -> None:
    """Rounds of one launch share its offset, or the moment: they are not as many as they look."""
    logs = ratios(noise, np.random.default_rng(12), Shape(2, 1000, 12, 31))[0]
    pooled = exponentiate(t_interval(logs.reshape(1000, -1), confidence=0.95))
    assert_above(share, ~covers(pooled, 1.0))


def test_one_launch_does_not_know_its_own_offset() -> None:
    logs = ratios(instance_offsets, np.random.default_rng(13), Shape(2, 500, 1, 100))[0, :, 0]
    over_rounds = percentile(
        logs, "median", confidence=0.95, num_resamples=1000, generator=np.random.default_rng(14)
    )
    assert_above(0.5, ~covers(exponentiate(over_rounds), 1.0))


def test_a_state_rarer_than_the_launches_is_not_seen() -> None:
    """What no interval over launches survives: one launch in ten is 10 % slower, and 59 % of runs of five
    launches, 28 % of runs of twelve, do not meet one. The true ratio is the mean over all launches."""
    truth = 1.1**0.1
    logs = ratios(rare_state, np.random.default_rng(15), Shape(2, 1000, 30, 31))[0]
    missed = {
        num: ~covers(ratio_of_centres(median(logs[:, :num]), confidence=0.95), truth) for num in (5, 12, 30)
    }
    assert_above(0.3, missed[5])
    assert_above(0.20, missed[12])
    assert_at_most(0.12, missed[30])


def test_launches_that_resemble_their_neighbours_are_fewer_than_they_look() -> None:
    """The other thing that no interval over launches survives."""
    logs = ratios(wandering_ratio, np.random.default_rng(16), Shape(2, 1000, 12, 31))[0]
    assert_above(0.25, ~covers(ratio_of_centres(median(logs), confidence=0.95), 1.0))


def level_coverage(noise: Noise, num_launches: int) -> BoolArray:
    """Of the interval of the level of a launch: whether it contains the geometric mean over all launches."""
    medians = median(baseline_times(noise, np.random.default_rng(17), Shape(1, 2000, num_launches, 31)))
    truth = float(np.exp(np.log(medians).mean()))
    return covers(level(medians, confidence=0.95), truth)


@pytest.mark.parametrize(
    "noise",
    [normal, heavy_tailed, autocorrelated, launch_offsets, instance_offsets],
    ids=lambda n: n.__name__,
)
@pytest.mark.parametrize("num_launches", [5, 12, 30])
def test_the_level_keeps_its_confidence_where_launches_are_alike(noise: Noise, num_launches: int) -> None:
    covered = level_coverage(noise, num_launches)
    assert_at_least(0.95, covered)
    assert_at_most(0.97, covered)


@pytest.mark.parametrize(
    ("noise", "num_launches", "share"),
    [(drifting, 12, 0.5), (separate_with_slow_states, 5, 0.15), (bimodal, 12, 0.5)],
)
def test_where_the_level_is_not_known_the_ratio_still_is(
    noise: Noise, num_launches: int, share: float
) -> None:
    """A level that wanders from launch to launch, or has a state that few launches show, is not a number that
    an interval over launches contains. Side by side both lanes have it alike."""
    assert_above(share, ~level_coverage(noise, num_launches))
    logs = ratios(noise, np.random.default_rng(18), Shape(2, 1000, num_launches, 31))[0]
    assert_at_least(0.95, covers(ratio_of_centres(median(logs), confidence=0.95), 1.0))


Source = Callable[[np.random.Generator, tuple[int, int]], FloatArray]
SOURCES: dict[str, tuple[Source, dict[Statistic, float]]] = {
    "normal": (lambda generator, shape: generator.normal(1.0, 0.05, shape), {"mean": 1.0, "median": 1.0}),
    "skewed": (
        lambda generator, shape: generator.lognormal(0.0, 0.1, shape),
        {"mean": float(np.exp(0.005)), "median": 1.0},
    ),
}
STATISTICS: tuple[Statistic, ...] = ("mean", "median")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("num", [30, 100])
def test_bootstraps_come_close_from_thirty_values_on(source: str, statistic: Statistic, num: int) -> None:
    """Both are a little too narrow: they divide by n where Student divides by n - 1 and has a t."""
    generator = np.random.default_rng([19, num])
    draw, truths = SOURCES[source]
    samples, truth = draw(generator, (1000, num)), truths[statistic]
    over_rows, one_by_one = (
        partial(method, statistic=statistic, confidence=0.95, num_resamples=1000, generator=generator)
        for method in (percentile, bca)
    )
    for interval in (over_rows(samples), stacked([one_by_one(sample) for sample in samples])):
        covered = covers(interval, truth)
        assert_at_least(0.935, covered)
        assert_at_most(0.97, covered)


@pytest.mark.parametrize(
    ("company", "alone"),
    [((12, 0.04), (1, 0.04)), ((40, 0.04), (1, 0.04)), ((12, 0.04), (5, 0.04)), ((40, 0.02), (5, 0.08))],
)
def test_the_change_in_company_keeps_its_confidence(
    company: tuple[int, float], alone: tuple[int, float]
) -> None:
    """Numbers of launches and their spread, which may differ where both are known; 99 %."""
    generator = np.random.default_rng(20)
    intervals = [
        change_in_company(*(np.exp(generator.normal(0.0, spread, num)) for num, spread in (company, alone)))
        for _ in range(1000)
    ]
    assert_at_least(0.99, covers(stacked(intervals), 0.0))


def unpaired(
    generator: np.random.Generator, between: BetweenRuns | None, *, run: float, num_past: int = 0
) -> Interval:
    """Two runs of the same code, 12 launches each, and what earlier runs say if it is not told."""
    levels = generator.normal(0.0, run, num_past + 2)[:, None] + generator.normal(
        0.0, 0.02, (num_past + 2, 12)
    )
    past = levels[2:]
    known = between or between_runs([Group(past.mean(axis=1), past.var(axis=1, ddof=1) / 12)])
    assert known is not None
    return welch(levels[0], levels[1], known, confidence=0.95)


@pytest.mark.parametrize("num_past", [3, 6, 20])
@pytest.mark.parametrize("run", [0.0, 0.015, 0.05])
def test_the_unpaired_ratio_keeps_its_confidence_given_earlier_runs(num_past: int, run: float) -> None:
    generator = np.random.default_rng([21, num_past])
    intervals = [unpaired(generator, None, run=run, num_past=num_past) for _ in range(1000)]
    assert_at_least(0.95, covers(stacked(intervals), 1.0))


def test_the_unpaired_ratio_needs_the_spread_between_runs() -> None:
    """Taken for nothing where it is 1.5 %, 5 % false alarms become a third."""
    generator = np.random.default_rng(22)
    intervals = [unpaired(generator, assumed(0.0), run=0.015) for _ in range(500)]
    assert_above(0.2, ~covers(stacked(intervals), 1.0))
    known = [unpaired(generator, assumed(0.015), run=0.015) for _ in range(500)]
    assert_at_least(0.95, covers(stacked(known), 1.0))


def test_the_noise_has_the_size_it_claims() -> None:
    """Two instances, 31 rounds each: offsets of both lanes, and the error of a median."""
    spread = float(centres("instance offsets").std())
    of_median = np.sqrt(np.pi / 2.0 / 31.0) * 0.01
    assert spread == pytest.approx(np.sqrt(2.0 * (INSTANCE**2 + of_median**2)), rel=0.02)
