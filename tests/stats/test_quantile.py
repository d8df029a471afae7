"""The one definition of quantiles."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from stepmark.stats.arrays import FloatArray, pad
from stepmark.stats.quantile import MAD_TO_SD, mad, median, quantiles
from tests.support.properties import samples, steady

levels = st.floats(0.0, 1.0)


@steady
@given(samples(), levels)
def test_agrees_with_numpy_type_7(values: FloatArray, level: float) -> None:
    expected = np.quantile(values, level, method="linear")
    np.testing.assert_allclose(quantiles(values, (level,))[0], expected, rtol=1e-9, atol=1e-6)


@steady
@given(samples(), levels, levels)
def test_is_ordered_and_inside_the_sample(values: FloatArray, one: float, other: float) -> None:
    low, high = quantiles(values, sorted((one, other)))
    assert values.min() <= low <= high <= values.max()


@steady
@given(samples(), st.randoms(use_true_random=False))
def test_does_not_depend_on_the_order(values: FloatArray, random: Random) -> None:
    shuffled = values.tolist()
    random.shuffle(shuffled)
    assert median(np.array(shuffled)) == median(values)
    assert mad(np.array(shuffled)) == mad(values)


@steady
@given(st.lists(samples(), min_size=1, max_size=5))
def test_rows_of_different_length_are_independent(rows: list[FloatArray]) -> None:
    np.testing.assert_array_equal(median(pad(rows)), [median(row) for row in rows])
    np.testing.assert_array_equal(mad(pad(rows)), [mad(row) for row in rows])


def test_examples_by_hand() -> None:
    values = np.array([4.0, 1.0, 3.0, 2.0])
    # positions 0, 0.75, 1.5, 2.25, 3 between 1, 2, 3, 4
    assert quantiles(values, (0.0, 0.25, 0.5, 0.75, 1.0)).tolist() == [1.0, 1.75, 2.5, 3.25, 4.0]


def test_mad_by_hand() -> None:
    # median 3, deviations 2 1 0 1 97, their median 1
    assert mad(np.array([1.0, 2.0, 3.0, 4.0, 100.0])) == MAD_TO_SD


def test_mad_constant_is_one_over_the_normal_quartile() -> None:
    assert pytest.approx(1.0 / ndtri(0.75), rel=1e-12) == MAD_TO_SD


def test_nothing_has_no_median() -> None:
    assert np.isnan(median(np.array([np.nan])))
    assert np.isnan(median(np.empty((2, 0)))).all()
