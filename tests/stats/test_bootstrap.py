"""Bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from stepmark.stats.arrays import FloatArray, Interval, mean
from stepmark.stats.bootstrap import bca, percentile
from stepmark.stats.quantile import median
from stepmark.stats.resample import Statistic, evaluate, replicates
from tests.support.properties import samples, steady

Bootstrap = Callable[..., Interval]
bootstraps = st.sampled_from([percentile, bca])
statistics = st.sampled_from(["mean", "median", mean])


def interval(method: Bootstrap, values: FloatArray, statistic: Statistic, *, seed: int = 0) -> Interval:
    generator = np.random.default_rng(seed)
    return method(values, statistic, confidence=0.95, num_resamples=500, generator=generator)


@steady
@given(bootstraps, samples(), statistics, st.integers(0, 2**32))
def test_contains_its_point_inside_the_sample(
    method: Bootstrap, values: FloatArray, statistic: Statistic, seed: int
) -> None:
    point, low, high = interval(method, values, statistic, seed=seed)
    assert values.min() <= low <= point <= high <= values.max()
    assert point == evaluate(values, statistic)


@steady
@given(bootstraps, samples(), statistics, st.integers(0, 2**32))
def test_same_seed_same_interval(
    method: Bootstrap, values: FloatArray, statistic: Statistic, seed: int
) -> None:
    assert interval(method, values, statistic, seed=seed) == interval(method, values, statistic, seed=seed)


@pytest.mark.parametrize("method", [percentile, bca])
@pytest.mark.parametrize("statistic", ["mean", "median", mean])
def test_equal_values_have_no_width(method: Bootstrap, statistic: Statistic) -> None:
    assert [*interval(method, np.full(7, 0.1), statistic)] == [0.1, 0.1, 0.1]


@pytest.mark.parametrize("method", [percentile, bca])
def test_refuses_what_it_cannot_resample(method: Bootstrap) -> None:
    for values in (np.array([]), np.array([1.0, np.nan])):
        with pytest.raises(ValueError, match="finite"):
            interval(method, values, "mean")


def test_percentile_of_the_mean_is_close_to_the_normal_interval() -> None:
    values = np.random.default_rng(2).normal(10.0, 1.0, 400)
    generator = np.random.default_rng(0)
    low, high = percentile(values, "mean", confidence=0.95, num_resamples=20_000, generator=generator)[1:]
    half = 1.96 * values.std() / 20.0
    assert low == pytest.approx(values.mean() - half, abs=0.05 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.05 * half)


def test_bca_follows_its_formula() -> None:
    """Written out once more, with the jackknife in a loop, on the same replicates."""
    values = np.random.default_rng(3).lognormal(0.0, 1.0, 25)
    drawn = replicates(values, "mean", num_resamples=500, generator=np.random.default_rng(0))
    z0 = ndtri(np.mean(drawn < values.mean()))
    jackknife = np.array([np.delete(values, i).mean() for i in range(25)])
    d = jackknife.mean() - jackknife
    a = (d**3).sum() / (6.0 * (d**2).sum() ** 1.5)
    levels = [ndtr(z0 + (z0 + z) / (1.0 - a * (z0 + z))) for z in (ndtri(0.025), ndtri(0.975))]
    assert list(interval(bca, values, "mean")[1:]) == pytest.approx(np.quantile(drawn, levels), rel=1e-9)


@pytest.mark.parametrize(("method", "name"), [(percentile, "percentile"), (bca, "BCa")])
def test_agrees_with_scipy(method: Bootstrap, name: Literal["percentile", "BCa"]) -> None:
    from scipy.stats import bootstrap

    values = np.random.default_rng(6).lognormal(0.0, 0.5, 50)
    generators = [np.random.default_rng(seed) for seed in (0, 1)]
    theirs = bootstrap(
        (values,), np.mean, method=name, n_resamples=20_000, rng=generators[0]
    ).confidence_interval
    ours = method(values, "mean", confidence=0.95, num_resamples=20_000, generator=generators[1])
    # Bounds from 20 000 resamples repeat to about 1 % of the width of the interval.
    width = theirs.high - theirs.low
    assert list(ours[1:]) == pytest.approx([theirs.low, theirs.high], abs=0.04 * width)


def test_bca_leans_towards_the_long_tail() -> None:
    values = np.random.default_rng(4).lognormal(0.0, 1.0, 40)
    plain, corrected = (interval(method, values, "mean") for method in (percentile, bca))
    assert corrected.low > plain.low
    assert corrected.high > plain.high


@pytest.mark.parametrize("size", [2, 5, 6])
def test_bca_of_the_median_by_name_is_that_of_the_function(size: int) -> None:
    """The acceleration takes a short way to the jackknife of the median; the long way must agree."""
    values = np.random.default_rng(5).lognormal(0.0, 1.0, size)
    by_name, by_function = (
        bca(values, statistic, confidence=0.9, num_resamples=50_000, generator=np.random.default_rng(0))
        for statistic in ("median", median)
    )
    assert list(by_name) == pytest.approx(list(by_function), rel=0.05)
