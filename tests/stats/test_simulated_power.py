"""Power as promised, in simulation: effects that are said to be seen four times in five are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepmark.stats.power import detectable, needed
from stepmark.stats.ratio import ratio_of_centres
from tests.support.promised_rates import assert_at_least, assert_at_most

SPREAD = 0.01
NUM_RUNS = 4000


@pytest.mark.parametrize("num", [5, 10, 20, 40])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_a_detectable_effect_is_detected_as_often_as_promised(num: int, power: float) -> None:
    """Of five launches a little more or less often: adding two quantiles of t is an approximation."""
    effect = detectable(SPREAD, num, confidence=0.95, power=power)
    runs = np.random.default_rng([41, num]).normal(effect, SPREAD, (NUM_RUNS, num))
    seen = ratio_of_centres(runs, confidence=0.95).low > 1.0
    tolerance = 0.02 if num >= 10 else 0.05
    assert_at_least(power - tolerance, seen)
    assert_at_most(power + tolerance, seen)


@pytest.mark.parametrize("distance", [0.005, 0.01, 0.02])
def test_the_launches_needed_are_enough_and_not_many_more(distance: float) -> None:
    num = needed(SPREAD, distance, confidence=0.95)
    assert num is not None
    generator = np.random.default_rng(42)
    enough, fewer = (
        ratio_of_centres(generator.normal(distance, SPREAD, (NUM_RUNS, n)), confidence=0.95).low > 1.0
        for n in (num, math.ceil(0.8 * num) - 1)
    )
    assert_at_least(0.8, enough)
    assert_at_most(0.8, fewer)
