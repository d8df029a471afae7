"""Rows of different length as one array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray, count, deviation, mean, pad
from tests.support.properties import numbers, samples, steady


@steady
@given(st.lists(samples(min_size=0), min_size=1, max_size=5))
def test_padding_keeps_every_value_and_adds_none(rows: list[FloatArray]) -> None:
    padded = pad(rows)
    assert count(padded).tolist() == [row.size for row in rows]
    for row, kept in zip(rows, padded, strict=True):
        np.testing.assert_array_equal(kept[: row.size], row)


@steady
@given(samples(), st.integers(0, 4))
def test_absent_values_do_not_change_the_mean(values: FloatArray, num_absent: int) -> None:
    assert mean(np.append(values, [np.nan] * num_absent)) == pytest.approx(mean(values), abs=1e-6)


@steady
@given(samples())
def test_mean_lies_between_the_extremes(values: FloatArray) -> None:
    assert values.min() <= mean(values) <= values.max()


@steady
@given(numbers, st.integers(1, 20))
def test_mean_of_equal_values_is_that_value(value: float, num: int) -> None:
    assert mean(np.full(num, value)) == value


def test_mean_of_nothing_is_nan() -> None:
    assert np.isnan(mean(np.array([[np.nan, np.nan], [1.0, 3.0]]))).tolist() == [True, False]


@steady
@given(samples(min_size=2), st.integers(0, 4))
def test_deviation_is_numpys_of_what_is_there(values: FloatArray, num_absent: int) -> None:
    padded = np.append(values, [np.nan] * num_absent)
    assert deviation(padded) == pytest.approx(values.std(ddof=1), rel=1e-9, abs=1e-6)


def test_fewer_than_two_values_do_not_deviate() -> None:
    assert deviation(np.array([[1.0, np.nan], [np.nan, np.nan]])).tolist() == [0.0, 0.0]
