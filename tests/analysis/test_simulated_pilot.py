"""The pilot, in simulation: what four launches say about the variance, and what follows from it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from stepmark.analysis.pilot import LONGEST, SHORTEST
from stepmark.records.settings import Settings
from stepmark.stats.arrays import FloatArray
from stepmark.stats.quantile import median
from stepmark.stats.ratio import ratio_of_centres
from stepmark.stats.variance import best_rounds, between_launches, error_of_median
from tests.support.promised_rates import assert_at_least, covers

SETTINGS = Settings()
LAUNCH_COST = 0.15
"""Seconds: fork, build and warm up two lanes."""
SAMPLING = 2.0 * SETTINGS.round_seconds
OF_MEDIAN = math.pi / 2.0
"""Variance of a median of normal values over that of their mean."""


class Workload(NamedTuple):
    """Spreads of a log-ratio, and the rounds that a pilot launch has time for."""

    launch: float
    round: float
    rounds: int

    @property
    def limits(self) -> tuple[float, float]:
        """Rounds of the shortest and the longest launch."""
        per_second = self.rounds / SETTINGS.round_seconds
        return per_second * SHORTEST, per_second * LONGEST

    def variance(self, rounds: FloatArray | float) -> FloatArray:
        """Of a launch's centre."""
        return np.asarray(self.launch**2 + OF_MEDIAN * self.round**2 / rounds)

    def price(self, rounds: FloatArray | float) -> FloatArray:
        """Variance of the mean of as many launches as a second holds."""
        return self.variance(rounds) * (LAUNCH_COST + SAMPLING / self.rounds * rounds)

    @property
    def best_price(self) -> float:
        """Of the best length of a launch, among those allowed."""
        return float(self.price(np.geomspace(*self.limits, 1000)).min())

    def draw(self, generator: np.random.Generator, *, runs: int, launches: int) -> FloatArray:
        offsets = generator.normal(0.0, self.launch, (runs, launches, 1))
        return offsets + generator.normal(0.0, self.round, (runs, launches, self.rounds))

    def chosen(self, pilots: FloatArray) -> FloatArray:
        """The number of rounds that each pilot chooses."""
        errors, num_rounds = error_of_median(pilots), np.full(pilots.shape[1], float(self.rounds))
        costs = {"launch_cost": LAUNCH_COST, "round_cost": SAMPLING / self.rounds}
        wanted = [
            best_rounds(centres, error, num_rounds, **costs)
            for centres, error in zip(median(pilots), errors, strict=True)
        ]
        return np.clip(wanted, *self.limits)


LAUNCHES_DOMINATE = Workload(launch=0.004, round=0.005, rounds=100)
BALANCED = Workload(launch=0.004, round=0.03, rounds=100)
ROUNDS_DOMINATE = Workload(launch=0.001, round=0.05, rounds=100)
SLOW_STEP = Workload(launch=0.004, round=0.01, rounds=30)
WORKLOADS = [LAUNCHES_DOMINATE, BALANCED, ROUNDS_DOMINATE, SLOW_STEP]


@pytest.mark.parametrize("rounds", [30, 100, 300])
@pytest.mark.parametrize("launch", [0.002, 0.004, 0.01])
def test_many_launches_tell_their_own_spread(launch: float, rounds: int) -> None:
    workload = Workload(launch=launch, round=0.01, rounds=rounds)
    logs = workload.draw(np.random.default_rng(51), runs=200, launches=60)
    found = between_launches(median(logs), error_of_median(logs))
    assert np.sqrt(np.mean(found**2)) == pytest.approx(launch, rel=0.15)


@pytest.mark.parametrize(("rounds", "excess"), [(30, 0.25), (100, 0.15), (300, 0.10)])
def test_the_error_of_a_median_is_what_medians_scatter_by(rounds: int, excess: float) -> None:
    """Never less, and with few rounds somewhat more, because ranks are whole numbers."""
    logs = np.random.default_rng(52).normal(0.0, 0.01, (10_000, rounds))
    error = float(np.sqrt(np.mean(error_of_median(logs) ** 2)))
    assert 1.0 <= error / float(median(logs).std()) <= 1.0 + excess


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_pilot_of_four_launches_spends_the_budget_nearly_as_well_as_knowing(workload: Workload) -> None:
    chosen = workload.chosen(workload.draw(np.random.default_rng(53), runs=1000, launches=SETTINGS.pilot))
    assert float(workload.price(chosen).mean()) <= 1.3 * workload.best_price


def test_launches_get_longer_where_rounds_dominate_and_shorter_where_launches_do() -> None:
    generator = np.random.default_rng(54)
    for workload, longer in ((LAUNCHES_DOMINATE, False), (ROUNDS_DOMINATE, True)):
        chosen = workload.chosen(workload.draw(generator, runs=500, launches=SETTINGS.pilot))
        assert_at_least(0.8, (chosen > workload.rounds) == longer)
        assert workload.price(chosen).mean() < workload.price(workload.rounds)


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("more", [1, 8, 26])
def test_a_length_chosen_by_looking_does_not_hurt_coverage(workload: Workload, more: int) -> None:
    """Launches of the pilot and later ones, of another length, count alike."""
    generator = np.random.default_rng([55, more])
    pilots = workload.draw(generator, runs=2000, launches=SETTINGS.pilot)
    spreads = np.sqrt(workload.variance(workload.chosen(pilots)))
    later = spreads[:, None] * generator.normal(0.0, 1.0, (2000, more))
    interval = ratio_of_centres(np.concatenate([median(pilots), later], axis=1), confidence=0.95)
    assert_at_least(0.95, covers(interval, 1.0))
