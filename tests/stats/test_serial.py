"""Serial correlation: known series, and what is true of all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray, pad
from stepmark.stats.serial import autocorrelation, effective_size
from tests.support.properties import samples, steady

SEED = 20261115


def persistent(phi: float, shape: tuple[int, int], seed: int = SEED) -> FloatArray:
    """Rows of an AR(1): every value keeps `phi` of the one before."""
    noise = np.random.default_rng(seed).normal(size=(shape[0], shape[1] + 200))
    rows = np.empty_like(noise)
    rows[:, 0] = noise[:, 0]
    for place in range(1, rows.shape[1]):
        rows[:, place] = phi * rows[:, place - 1] + noise[:, place]
    return rows[:, 200:]


def test_example_by_hand() -> None:
    # centred -1.5 -0.5 0.5 1.5, squares 5: lag 1 (0.75 - 0.25 + 0.75) / 5, lag 2 (-0.75 - 0.75) / 5
    assert autocorrelation(np.array([1.0, 2.0, 3.0, 4.0]), max_lag=3) == pytest.approx(
        [1.0, 0.25, -0.3, -0.45]
    )


@steady
@given(samples(min_size=2), st.integers(0, 8))
def test_lag_zero_is_one_and_no_lag_is_more(values: FloatArray, max_lag: int) -> None:
    found = autocorrelation(values, max_lag=max_lag)
    assert found.shape == (max_lag + 1,)
    if np.ptp(values) == 0.0:
        assert np.isnan(found).all()
    else:
        assert found[0] == pytest.approx(1.0)
        assert np.all(np.isnan(found) | (np.abs(found) <= 1.0 + 1e-9))
        assert np.isnan(found[values.size :]).all(), "no pairs that far apart"


@steady
@given(samples(min_size=2), st.floats(-5.0, 5.0), st.floats(0.01, 100.0))
def test_neither_place_nor_scale_matters(values: FloatArray, shift: float, factor: float) -> None:
    values = np.round(values, 3)
    moved = autocorrelation(values * factor + shift, max_lag=3)
    assert moved == pytest.approx(autocorrelation(values, max_lag=3), abs=1e-4, nan_ok=True)


@steady
@given(st.lists(samples(min_size=1, max_size=12), min_size=1, max_size=4))
def test_rows_are_looked_at_one_by_one_whatever_their_length(rows: list[FloatArray]) -> None:
    together = effective_size(pad(rows))
    assert together == pytest.approx([float(effective_size(row)) for row in rows])


@steady
@given(samples(min_size=1, max_size=40))
def test_between_one_and_their_number(values: FloatArray) -> None:
    size = float(effective_size(values))
    assert 1.0 <= size <= values.size


def test_equal_values_count_as_independent() -> None:
    assert effective_size(np.full(10, 0.1)) == 10.0
    assert effective_size(np.full((2, 3), np.nan)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.6, 0.9])
def test_persistent_noise_is_worth_its_known_share(phi: float) -> None:
    """An AR(1) has n (1 - phi) / (1 + phi) independent observations."""
    rows = persistent(phi, (40, 4000))
    assert autocorrelation(rows, max_lag=2).mean(axis=0) == pytest.approx([1.0, phi, phi**2], abs=0.03)
    share = float(np.mean(effective_size(rows))) / 4000
    assert share == pytest.approx((1.0 - phi) / (1.0 + phi), rel=0.15)


def test_the_mean_of_persistent_noise_scatters_as_the_effective_size_says() -> None:
    rows = persistent(0.7, (2000, 300))
    naive = rows.std(axis=1, ddof=1) / np.sqrt(300)
    honest = rows.std(axis=1, ddof=1) / np.sqrt(effective_size(rows))
    truth = float(rows.mean(axis=1).std())
    assert float(np.mean(naive)) < 0.5 * truth
    assert float(np.mean(honest)) == pytest.approx(truth, rel=0.12)


def test_an_alternating_series_is_not_credited_with_more_than_it_has() -> None:
    assert effective_size(np.array([1.0, -1.0] * 20)) == 40.0
