"""Fast replicates follow the same distribution as draws one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats import resample
from stepmark.stats.arrays import FloatArray, mean
from stepmark.stats.quantile import median
from stepmark.stats.resample import Statistic, replicates
from tests.support.properties import samples, steady

statistics = st.sampled_from(["mean", "median", mean, median])


def draw(values: FloatArray, statistic: Statistic, num: int = 200, seed: int = 0) -> FloatArray:
    return replicates(values, statistic, num_resamples=num, generator=np.random.default_rng(seed))


@steady
@given(samples(), statistics, st.integers(0, 2**32))
def test_replicates_stay_inside_the_sample(values: FloatArray, statistic: Statistic, seed: int) -> None:
    drawn = draw(values, statistic, seed=seed)
    assert drawn.shape == (200,)
    assert values.min() <= drawn.min()
    assert drawn.max() <= values.max()


@steady
@given(samples(), statistics, st.integers(0, 2**32))
def test_the_seed_decides(values: FloatArray, statistic: Statistic, seed: int) -> None:
    np.testing.assert_array_equal(draw(values, statistic, seed=seed), draw(values, statistic, seed=seed))


@steady
@given(samples(), statistics)
def test_rows_share_their_resamples(values: FloatArray, statistic: Statistic) -> None:
    both = draw(np.stack([values, values]), statistic)
    np.testing.assert_array_equal(both[0], both[1])


def exact_distribution(values: FloatArray, statistic: Statistic) -> dict[float, float]:
    """By listing all n^n resamples."""
    shares: dict[float, float] = {}
    for drawn in product(values, repeat=values.size):
        value = round(float(resample.evaluate(np.array(drawn), statistic)), 9)
        shares[value] = shares.get(value, 0.0) + values.size ** -float(values.size)
    return shares


@pytest.mark.parametrize("statistic", ["mean", "median"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_matches_the_exact_bootstrap_distribution(statistic: Statistic, size: int) -> None:
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])[:size]
    exact = exact_distribution(values, statistic)
    found, counts = np.unique(np.round(draw(values, statistic, num=200_000), 9), return_counts=True)
    assert set(found.tolist()) <= set(exact)
    for value, share in exact.items():
        # Five standard errors of a share in 200 000 draws are at most 0.0056.
        assert np.sum(counts[found == value]) / 200_000 == pytest.approx(share, abs=0.006)


@pytest.mark.parametrize("size", [40, 41])
def test_large_samples_without_a_table_agree(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).lognormal(0.0, 0.5, size)
    paired = draw(values, "mean", num=50_000)
    monkeypatch.setattr(resample, "MAX_PAIRED", 0)
    single = draw(values, "mean", num=50_000)
    error = values.std() / np.sqrt(size)
    for drawn in (paired, single):
        assert drawn.mean() == pytest.approx(values.mean(), abs=5.0 * error / np.sqrt(50_000))
        assert drawn.std() == pytest.approx(error, rel=0.02)
