"""Criterion's sampling plan."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.criterion_plan import Sampling, plan_samples
from tests.support.properties import steady, times

LINEAR, FLAT = Sampling.LINEAR, Sampling.FLAT


@pytest.mark.parametrize(
    ("warm_up_mean", "num_samples", "sampling", "step", "iterations"),
    [
        (349e-6, 100, LINEAR, 3, 15150),
        (825e-6, 100, LINEAR, 2, 10100),
        (2.48e-3, 100, FLAT, 21, 2100),
        (9.43e-3, 100, FLAT, 6, 600),
        (6.61e-3, 100, FLAT, 8, 800),
        (1.83e-3, 100, LINEAR, 1, 5050),
        (3.82e-3, 10, LINEAR, 24, 1320),
        (44.5e-6, 100, LINEAR, 23, 116150),
        (48.0e-6, 100, LINEAR, 21, 106050),
        (25.5e-6, 100, LINEAR, 39, 196950),
        (743e-6, 100, LINEAR, 2, 10100),
        (1.47e-3, 100, LINEAR, 1, 5050),
        (2.42e-3, 100, FLAT, 21, 2100),
        (3.35e-3, 100, FLAT, 15, 1500),
        (4.51e-3, 100, FLAT, 12, 1200),
        (1.14e-3, 100, LINEAR, 1, 5050),
        (2.04e-3, 100, FLAT, 25, 2500),
    ],
)
def test_plans_as_criterion_did(
    warm_up_mean: float, num_samples: int, sampling: Sampling, step: int, iterations: int
) -> None:
    """The seventeen lines "Collecting ..." of a published run (tests/report/test_criterion_published.py)."""
    plan = plan_samples(warm_up_mean, num_samples=num_samples)
    assert (plan.sampling, plan.step, sum(plan.iterations)) == (sampling, step, iterations)
    assert len(plan.iterations) == num_samples


@steady
@given(times, st.integers(2, 200), st.floats(0.1, 60.0))
def test_a_plan_fills_the_target_and_not_much_more(seconds: float, num_samples: int, target: float) -> None:
    plan = plan_samples(seconds, num_samples=num_samples, target=target)
    assert plan.seconds == pytest.approx(seconds * sum(plan.iterations))
    assert plan.seconds >= target * (1.0 - 1e-9)
    if plan.sampling is LINEAR:
        assert plan.iterations == tuple(plan.step * i for i in range(1, num_samples + 1))
        assert plan.seconds <= 2.0 * target * (1.0 + 1e-9)
    else:
        assert set(plan.iterations) == {plan.step}
        assert plan.seconds <= target + num_samples * seconds * (1.0 + 1e-9)


@steady
@given(times, st.integers(2, 200))
def test_advice_is_given_where_the_smallest_step_is_too_long(seconds: float, num_samples: int) -> None:
    plan = plan_samples(seconds, num_samples=num_samples)
    assert (plan.advised_samples is not None) == (plan.step == 1)
    if plan.advised_samples is not None:
        assert plan.advised_samples >= 10
        assert plan.advised_samples % 10 == 0


@pytest.mark.parametrize(("seconds", "advised"), [(1.83e-3, 50), (1.14e-3, 60), (0.06, 80), (30.0, 10)])
def test_the_number_of_samples_advised(seconds: float, advised: int) -> None:
    """By hand: (sqrt(20/0.00183) - 1) / 2 = 51.8, (sqrt(20/0.00114) - 1) / 2 = 65.7; flat: 5/0.06 = 83.3."""
    assert plan_samples(seconds).advised_samples == advised


def test_flat_when_the_shortest_linear_plan_lasts_twice_the_target() -> None:
    longest = 2.0 * 5.0 / 5050
    assert plan_samples(math.nextafter(longest, 0.0)).sampling is LINEAR
    assert plan_samples(longest * 1.0001).sampling is FLAT
