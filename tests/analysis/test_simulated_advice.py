"""The advice beside an INCONCLUSIVE verdict, in simulation: as many launches as it names decide."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepmark.analysis.strength import strength
from stepmark.records.settings import Policy
from stepmark.records.verdict import Look, VerdictKind
from tests.support.grown_runs import MARGIN, Grown, grow
from tests.support.promised_rates import assert_at_least, assert_at_most

SPREAD = 0.01
NUM_RUNS = 4000
EDGE = math.log1p(MARGIN)


def advised(centre: float, *, seed: int) -> Grown:
    """Runs as long as the advice beside an INCONCLUSIVE verdict says, if the ratio is what it seems."""
    generator = np.random.default_rng(seed)
    seen = generator.normal(0.0, 1.0, 30)
    pilot = centre + SPREAD * (seen - seen.mean()) / seen.std(ddof=1)
    look = Look(launches=30, early=False, share=1.0)
    power = strength(pilot, VerdictKind.INCONCLUSIVE, policy=Policy(), look=look, launch_seconds=0.3)
    assert power is not None
    assert power.needed is not None
    return grow(generator.normal(centre, SPREAD, (1, NUM_RUNS, power.needed)))


@pytest.mark.parametrize("centre", [-EDGE - 0.008, -0.005, 0.0, 0.002, 0.005, EDGE + 0.004, EDGE + 0.01])
def test_as_many_launches_as_advised_decide_four_times_in_five(centre: float) -> None:
    decided = advised(centre, seed=43).decided
    assert_at_least(0.8, decided)
    assert_at_most(0.87, decided)
