"""Criterion's estimate of a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray, Interval
from stepmark.stats.criterion_estimate import estimate_time, sampling_of
from stepmark.stats.criterion_plan import Sampling, plan_samples
from tests.support.properties import samples, steady, times


def estimate(iterations: FloatArray, totals: FloatArray, *, seed: int = 0, num: int = 500) -> Interval:
    return estimate_time(iterations, totals, generator=np.random.default_rng(seed), num_resamples=num)


def noisy_line(seed: int, *, num: int = 60) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    iterations: FloatArray = 3.0 * np.arange(1, num + 1, dtype=np.float64)
    return iterations, iterations * 2e-3 * generator.lognormal(0.0, 0.1, num)


@steady
@given(st.floats(1e-7, 1.0), st.integers(2, 50))
def test_every_plan_is_recognised(seconds: float, num_samples: int) -> None:
    plan = plan_samples(seconds, num_samples=num_samples)
    assert sampling_of(np.array(plan.iterations, dtype=float)) is plan.sampling


@pytest.mark.parametrize("iterations", [[4.0], [4.0, 4.0], [4.0, 8.0, 11.0], [8.0, 4.0]])
def test_other_iterations_are_flat(iterations: list[float]) -> None:
    assert sampling_of(np.array(iterations)) is Sampling.FLAT


@steady
@given(samples(times), st.integers(1, 50), st.integers(0, 2**32))
def test_of_a_flat_sample_is_the_mean_inside_the_sample(
    averages: FloatArray, iterations: int, seed: int
) -> None:
    found = estimate(np.full(averages.size, float(iterations)), averages * iterations, seed=seed)
    assert found.point == pytest.approx(averages.mean())
    edge = 1e-12 * averages.max()
    assert averages.min() - edge <= found.low <= found.high <= averages.max() + edge


def test_the_slope_is_that_of_least_squares() -> None:
    x, y = noisy_line(1)
    expected = np.linalg.lstsq(x[:, None], y, rcond=None)[0][0]
    assert estimate(x, y).point == pytest.approx(expected, rel=1e-12)
    assert estimate(x, y).point != pytest.approx((y / x).mean(), rel=1e-4)


def test_a_perfect_line_has_no_width() -> None:
    x: FloatArray = 7.0 * np.arange(1, 31, dtype=np.float64)
    assert list(estimate(x, 0.125 * x)) == pytest.approx([0.125] * 3, rel=1e-12)


def test_the_slopes_interval_agrees_with_scipy() -> None:
    from scipy.stats import bootstrap

    x, y = noisy_line(2)

    def slope(x: FloatArray, y: FloatArray, axis: int = -1) -> FloatArray:
        found: FloatArray = (x * y).sum(axis=axis) / (x * x).sum(axis=axis)
        return found

    theirs = bootstrap(
        (x, y), slope, paired=True, vectorized=True, method="percentile", n_resamples=20_000,
        rng=np.random.default_rng(3),
    ).confidence_interval  # fmt: skip
    ours = estimate(x, y, num=20_000)
    # Bounds from 20 000 resamples repeat to about 1 % of the width of the interval.
    width = theirs.high - theirs.low
    assert list(ours[1:]) == pytest.approx([theirs.low, theirs.high], abs=0.04 * width)


def test_the_means_interval_agrees_with_scipy() -> None:
    from scipy.stats import bootstrap

    averages = np.random.default_rng(4).lognormal(0.0, 0.3, 100)
    theirs = bootstrap(
        (averages,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(5)
    ).confidence_interval
    ours = estimate(np.full(100, 8.0), 8.0 * averages, num=20_000)
    width = theirs.high - theirs.low
    assert list(ours[1:]) == pytest.approx([theirs.low, theirs.high], abs=0.04 * width)


@pytest.mark.parametrize(("iterations", "totals"), [([], []), ([1.0], [1.0, 2.0]), ([0.0, 1.0], [1.0, 1.0])])
def test_refuses_what_is_no_sample(iterations: list[float], totals: list[float]) -> None:
    with pytest.raises(ValueError, match="needs samples"):
        estimate(np.array(iterations), np.array(totals))
