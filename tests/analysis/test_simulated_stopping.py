"""Error rates and power of the stopping rule, in simulation: runs that grow until all is decided."""

from __future__ import annotations

import numpy as np
import pytest

from stepmark.analysis.stopping import look_at
from stepmark.analysis.verdict import decide_bounds
from stepmark.records.settings import Policy, Settings
from stepmark.records.verdict import VerdictKind
from stepmark.stats.arrays import FloatArray
from stepmark.stats.quantile import median
from stepmark.stats.ratio import ratio_of_centres
from stepmark.stats.sequential import looks
from tests.support.grown_runs import ALPHA, MARGIN, Grown, grow, grow_naively, grow_watched
from tests.support.noise import NOISES, SHARED, Shape, centres, rare_state, ratios
from tests.support.promised_rates import assert_above, assert_at_least, assert_at_most

EDGE = 1.0 + MARGIN
TRUTHS = [1.0, 1.005, EDGE, 1.03]


def grown(name: str, truth: float, *, most: int = 40) -> Grown:
    return grow(centres(name)[:, :, :most] + np.log(truth))


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("truth", TRUTHS)
def test_the_interval_at_the_end_of_a_run_keeps_its_confidence(name: str, truth: float) -> None:
    """Whatever made the run end there, it misses the truth in at most 5 % of runs."""
    for most in (6, 12, 40):
        assert_at_most(ALPHA, grown(name, truth, most=most).misses(truth))


@pytest.mark.parametrize("name", NOISES)
def test_identical_code_is_not_called_different(name: str) -> None:
    for most in (20, 40):
        assert_at_most(0.01, grown(name, 1.0, most=most).different)


@pytest.mark.parametrize("name", NOISES)
def test_a_short_run_in_separate_processes_cries_wolf_in_two_per_cent(name: str) -> None:
    """Where the interval is wider than several margins, the margin hardly helps to stay below alpha."""
    for most in (7, 10):
        assert_at_most(0.01 if name in SHARED else 0.02, grown(name, 1.0, most=most).different)


@pytest.mark.parametrize("name", NOISES)
def test_on_the_edge_of_the_margin_hardly_anything_is_decided(name: str) -> None:
    on_edge = grown(name, EDGE)
    assert_at_most(ALPHA, on_edge.slower | on_edge.equivalent)
    assert not on_edge.faster.any()


@pytest.mark.parametrize("name", NOISES)
def test_looking_after_every_launch_at_plain_intervals_would_miss_far_too_often(name: str) -> None:
    naive = grow_naively(centres(name) + np.log(EDGE))
    assert_above(0.10, naive.misses(EDGE))


@pytest.mark.parametrize("name", NOISES)
def test_watching_an_unfinished_run_costs_next_to_nothing(name: str) -> None:
    """Its looks have an early one's share. 0.5 % is for the looks that were not planned."""
    watched = grow_watched(centres(name) + np.log(EDGE))
    assert_at_most(ALPHA + 0.005, watched.slower | watched.equivalent)


def of_spread(spread: float, truth: float, *, seed: int) -> FloatArray:
    """Centres of one variant in runs of at most 40 launches."""
    return np.random.default_rng(seed).normal(np.log(truth), spread, (1, 1000, 40))


def test_a_slowdown_of_three_per_cent_is_found_soon() -> None:
    found = grow(of_spread(0.005, 1.03, seed=31))
    assert_at_least(0.999, found.slower)
    assert found.launches.mean() <= 7.0


def test_identical_code_is_soon_called_equivalent() -> None:
    found = grow(of_spread(0.005, 1.0, seed=32))
    assert_at_least(0.999, found.equivalent)
    assert found.launches.mean() <= 12.0


def test_stopping_early_costs_little_power() -> None:
    """Against runs of the same length that look once: a slowdown that these find in four of five cases."""
    runs = of_spread(0.02, 1.0194, seed=33)
    once = ratio_of_centres(runs, confidence=1.0 - ALPHA)
    at_end = float(np.mean(once.low > EDGE))
    assert at_end == pytest.approx(0.8, abs=0.05)
    assert grow(runs).slower.mean() >= at_end - 0.04


def test_a_cell_of_several_variants_ends_when_all_are_decided() -> None:
    """Three variants against one baseline, whose offsets they share: equal, on the edge, slower."""
    truths = np.array([1.0, 1.008, 1.03])
    three = centres("instance offsets", lanes=4) + np.log(truths)[:, None, None]
    together, apart = grow(three), [grow(three[[place]]) for place in range(3)]
    assert (together.launches >= np.max([each.launches for each in apart], axis=0)).all()
    stopped = together.launches < 40
    assert stopped.any()
    assert together.decided[:, stopped].all()
    for place, truth in enumerate(truths):
        assert_at_most(ALPHA, together.misses(truth)[place])
    assert_at_least(0.999, together.slower[2])
    assert not together.different[0].any()


def test_a_rare_state_is_called_equivalent_by_runs_that_do_not_meet_it() -> None:
    """The rule's blind spot: one launch in ten is 10 % slower, 1 % on average, and a quarter of runs stop
    before they have met such a launch."""
    truth = 1.1**0.1
    runs = grow(median(ratios(rare_state, np.random.default_rng(34), Shape(2, 1000, 40, 31))))
    assert_above(0.2, runs.misses(truth))
    assert (runs.misses(truth) & runs.equivalent).sum() > 0.9 * runs.misses(truth).sum()


@pytest.mark.parametrize("name", ["instance offsets", "separate processes"])
@pytest.mark.parametrize("truth", [1.0, 1.02])
def test_the_simulated_rule_is_the_rule(name: str, truth: float) -> None:
    """Launch by launch through the code that measures and judges, for some of the runs."""
    settings, policy = Settings(launches=40), Policy()
    runs = centres(name)[:, :40] + np.log(truth)
    simulated = grow(runs)
    assert (policy.margin, 1.0 - policy.confidence) == pytest.approx((MARGIN, ALPHA))
    for run in range(40):
        own = runs[0, run]
        candidates = [
            look_at([own[:num]], num, settings=settings, policy=policy, num_comparisons=1)
            for num in looks(40)
        ]
        early = [look for look in candidates if look.early]
        end = early[0] if early else look_at([own], 40, settings=settings, policy=policy, num_comparisons=1)
        interval = ratio_of_centres(own[: end.launches], confidence=1.0 - ALPHA * end.share)
        kind = decide_bounds(float(interval.low), float(interval.high), margin=policy.margin)
        assert end.launches == simulated.launches[run]
        assert end.share == pytest.approx(simulated.shares[run])
        assert (kind is VerdictKind.EQUIVALENT) == simulated.equivalent[0, run]
        assert (kind is VerdictKind.SLOWER) == simulated.slower[0, run]
        assert (kind is VerdictKind.FASTER) == simulated.faster[0, run]
