"""How long a cell's later launches should be, from its first."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.against import Match, match
from stepmark.analysis.judge import read_side
from stepmark.analysis.pilot import LEAST_LAUNCHES, LONGEST, SHORTEST, best_round_seconds
from stepmark.analysis.trials import gather
from stepmark.records.run import Recording
from stepmark.records.settings import Settings
from stepmark.records.trial import LaunchTrial
from stepmark.stats.quantile import median
from tests.support.properties import steady
from tests.support.recordings import QUIET, Noise, fail_solo, make_recording
from tests.support.trials import FORWARD

SETTINGS = Settings(round_seconds=0.15)


def matches_of(recording: Recording) -> list[Match]:
    """Every variant but the first against the first."""
    baseline, *others = (read_side(trials) for trials in gather(recording).values())
    return [match(side, baseline, settings=recording.run.settings) for side in others]


def pilot(
    noise: Noise, *, num_launches: int = 4, seed: int = 0, variants: Sequence[str] = ("a", "b")
) -> Recording:
    return make_recording(
        variants=dict.fromkeys(variants, 1.0),
        num_launches=num_launches,
        layout=FORWARD,
        noise=noise,
        seed=seed,
    )


def seconds_for(
    recording: Recording,
    settings: Settings = SETTINGS,
    *,
    num_cells: int = 1,
    launch_seconds: float = 0.9,
) -> float | None:
    launches: list[LaunchTrial] = [replace(launch, seconds=launch_seconds) for launch in recording.launches]
    return best_round_seconds(launches, matches_of(recording), settings, num_cells=num_cells)


def known(seconds: float | None) -> float:
    assert seconds is not None
    return seconds


noises = st.builds(
    Noise,
    process=st.floats(0.0, 0.1),
    instance=st.floats(0.0, 0.02),
    round=st.floats(0.0, 0.05),
)
pilots = st.builds(pilot, noises, num_launches=st.integers(2, 6), seed=st.integers(0, 1000))
budgets = st.none() | st.floats(0.1, 1000.0)


@steady
@given(pilots, budgets, st.integers(1, 50), st.floats(0.0, 5.0))
def test_neither_too_short_nor_too_long(
    recording: Recording, budget: float | None, num_cells: int, launch_seconds: float
) -> None:
    settings = replace(SETTINGS, budget=budget)
    seconds = seconds_for(recording, settings, num_cells=num_cells, launch_seconds=launch_seconds)
    assert SHORTEST <= known(seconds) <= LONGEST


@steady
@given(pilots, st.floats(1.0, 1000.0), st.floats(1.0, 10.0), st.integers(1, 20))
def test_more_budget_never_makes_launches_shorter_and_more_cells_never_longer(
    recording: Recording, budget: float, factor: float, num_cells: int
) -> None:
    def with_budget(amount: float, cells: int) -> float:
        return known(seconds_for(recording, replace(SETTINGS, budget=amount), num_cells=cells))

    plain = with_budget(budget, num_cells)
    assert with_budget(factor * budget, num_cells) >= plain
    assert with_budget(budget, num_cells + 1) <= plain
    assert known(seconds_for(recording)) >= plain, "without a budget there is no limit"


@steady
@given(pilots, st.floats(0.4, 3.0), st.floats(1.0, 10.0))
def test_dear_processes_have_longer_launches(recording: Recording, cost: float, factor: float) -> None:
    cheap = seconds_for(recording, launch_seconds=cost)
    assert known(seconds_for(recording, launch_seconds=factor * cost)) >= known(cheap)


@steady
@given(noises, st.integers(0, 100))
def test_a_budget_holds_enough_launches(noise: Noise, seed: int) -> None:
    """Where the launch's own cost leaves room for it: two lanes, 0.3 s for a process, 15 s and one cell."""
    settings = replace(SETTINGS, budget=15.0)
    seconds = known(seconds_for(pilot(noise, seed=seed), settings, launch_seconds=0.6))
    assert LEAST_LAUNCHES * (0.3 + 2 * seconds) <= 15.0 * (1.0 + 1e-9)


def test_noisy_rounds_want_long_launches_and_unlike_instances_short_ones() -> None:
    rounds = known(seconds_for(pilot(Noise(process=0.03, instance=0.0, round=0.05))))
    instances = known(seconds_for(pilot(Noise(process=0.03, instance=0.03, round=0.002))))
    assert instances == SHORTEST
    assert rounds > 2 * instances


def test_the_variants_of_a_cell_are_taken_together() -> None:
    calm = pilot(Noise(instance=0.0001, round=0.003))
    wild = pilot(Noise(instance=0.004, round=0.003), seed=1)

    def seconds(matches: list[Match]) -> float:
        return known(best_round_seconds(calm.launches, matches, SETTINGS, num_cells=1))

    of_calm, of_wild = seconds(matches_of(calm)), seconds(matches_of(wild))
    assert of_wild < seconds(matches_of(calm) + matches_of(wild)) < of_calm


def test_a_variant_that_missed_a_launch_is_not_asked() -> None:
    whole, partial = pilot(Noise(), num_launches=4), pilot(Noise(instance=0.05), num_launches=3, seed=1)
    both = matches_of(whole) + matches_of(partial)
    assert best_round_seconds(whole.launches, both, SETTINGS, num_cells=1) == seconds_for(whole)
    assert best_round_seconds(whole.launches, matches_of(partial), SETTINGS, num_cells=1) is None


def test_without_noise_launches_are_short() -> None:
    assert seconds_for(pilot(QUIET)) == SHORTEST


def test_by_hand() -> None:
    """Two launches with the centre 0 and rounds that make the median's error 0.4 %."""
    recording = pilot(QUIET, num_launches=2)
    (one,) = matches_of(recording)
    assert one.paired is not None
    half_width = 0.004 * 9 / math.sqrt(20.0)  # the order statistics 5 and 14 of 20
    rounds = np.array([-half_width] * 10 + [half_width] * 10)
    logs = np.tile(rounds, (1, 2, 1))
    paired = dataclasses.replace(one, paired=dataclasses.replace(one.paired, logs=logs, centres=median(logs)))
    seconds = best_round_seconds(recording.launches, [paired], SETTINGS, num_cells=1)
    # launches of 0.9 s: 0.6 s of their own, 0.3 s for 20 rounds; tau at its floor of 0.1 %
    sigma2, tau2 = 0.004**2 * 20, 0.001**2
    expected = math.sqrt(sigma2 / tau2 * 0.6 / 0.015) * 0.015 / 2
    assert expected > LONGEST
    assert seconds == LONGEST
    short = best_round_seconds(
        [replace(launch, seconds=0.31) for launch in recording.launches], [paired], SETTINGS, num_cells=1
    )
    assert short == pytest.approx(math.sqrt(sigma2 / tau2 * 0.01 / 0.015) * 0.015 / 2, rel=1e-6)


def test_one_launch_or_nothing_to_compare_cannot_tell() -> None:
    assert seconds_for(pilot(Noise(), num_launches=1)) is None
    assert seconds_for(fail_solo(pilot(Noise()), "b")) is None
    assert best_round_seconds([], [], SETTINGS, num_cells=1) is None


def test_launches_of_a_single_round_cannot_tell() -> None:
    settings = Settings(min_rounds=1, launches=4)
    recording = make_recording(num_launches=4, num_rounds=1, layout=FORWARD, settings=settings)
    seconds = best_round_seconds(recording.launches, matches_of(recording), settings, num_cells=1)
    assert seconds is None or math.isfinite(seconds)
