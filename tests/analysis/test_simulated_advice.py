"""The advice beside an INCONCLUSIVE verdict, in simulation: as many launches as it names decide."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import stdtrit

from stepmark.analysis.strength import strength
from stepmark.records.settings import Policy
from stepmark.records.verdict import Look, Power, VerdictKind
from stepmark.stats.arrays import BoolArray
from stepmark.stats.fdr import beyond_margin, discoveries
from tests.support.grown_runs import ALPHA, MARGIN, Grown, grow
from tests.support.promised_rates import assert_at_least, assert_at_most

SPREAD = 0.01
NUM_RUNS = 4000
NUM_SWEEPS = 1500
EDGE = math.log1p(MARGIN)


def power_of(
    centre: float, generator: np.random.Generator, *, num: int = 30, num_comparisons: int = 1
) -> Power:
    """Of an INCONCLUSIVE comparison over so many launches, which show ratio and spread as they are."""
    seen = generator.normal(0.0, 1.0, num)
    pilot = centre + SPREAD * (seen - seen.mean()) / seen.std(ddof=1)
    power = strength(
        pilot,
        VerdictKind.INCONCLUSIVE,
        policy=Policy(),
        look=Look(launches=num, early=False, share=1.0),
        launch_seconds=0.3,
        num_comparisons=num_comparisons,
    )
    assert power is not None
    return power


def advised(centre: float, *, seed: int) -> Grown:
    """Runs as long as the advice beside an INCONCLUSIVE verdict says, if the ratio is what it seems."""
    generator = np.random.default_rng(seed)
    needed = power_of(centre, generator).needed
    assert needed is not None
    return grow(generator.normal(centre, SPREAD, (1, NUM_RUNS, needed)))


def found_among(centre: float, *, launches: int, others: int, generator: np.random.Generator) -> BoolArray:
    """In which of many sweeps one difference stands beside others that are none: intervals and p-values of
    plain looks, Benjamini and Hochberg over all."""
    truths = np.array([centre, *[0.0] * others])
    means = truths + generator.normal(0.0, SPREAD / math.sqrt(launches), (NUM_SWEEPS, truths.size))
    errors = SPREAD * np.sqrt(generator.chisquare(launches - 1, means.shape) / (launches - 1) / launches)
    half = stdtrit(launches - 1, 1.0 - ALPHA / 2.0) * errors
    slower = means - half > EDGE
    tails = [beyond_margin(m, e, launches, margin=EDGE) for m, e in zip(means.flat, errors.flat, strict=True)]
    p_values = np.array(tails).reshape(means.shape)
    stand = np.array([discoveries(row, rate=ALPHA)[0] for row in p_values])
    return np.asarray(slower[:, 0] & stand)


@pytest.mark.parametrize("centre", [-EDGE - 0.008, -0.005, 0.0, 0.002, 0.005, EDGE + 0.004, EDGE + 0.01])
def test_as_many_launches_as_advised_decide_four_times_in_five(centre: float) -> None:
    decided = advised(centre, seed=43).decided
    assert_at_least(0.8, decided)
    assert_at_most(0.87, decided)


@pytest.mark.parametrize("others", [0, 5, 23])
def test_what_a_sweep_is_said_to_see_it_sees_four_times_in_five(others: int) -> None:
    generator = np.random.default_rng(44)
    seen = math.log1p(power_of(0.0, generator, num=20, num_comparisons=1 + others).detectable)
    found = found_among(seen, launches=20, others=others, generator=generator)
    assert_at_least(0.78, found)
    assert_at_most(0.85, found)


@pytest.mark.parametrize("others", [5, 23])
def test_in_a_sweep_as_many_launches_as_advised_decide(others: int) -> None:
    generator = np.random.default_rng(45)
    centre = EDGE + 0.006
    needed = power_of(centre, generator, num_comparisons=1 + others).needed
    alone = power_of(centre, generator).needed
    assert needed is not None
    assert alone is not None
    assert needed > alone
    assert_at_least(0.78, found_among(centre, launches=needed, others=others, generator=generator))
