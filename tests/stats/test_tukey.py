"""Tukey's fences label, count and keep."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray, pad
from stepmark.stats.tukey import Counts, count_outliers, fences, labels
from tests.support.properties import samples, steady


@steady
@given(samples(max_size=60))
def test_labels_agree_with_the_fences(values: FloatArray) -> None:
    fence = fences(values)
    for value, label in zip(values, labels(values), strict=True):
        assert (label <= -1) == (value < fence.low_mild)
        assert (label == -2) == (value < fence.low_severe)
        assert (label >= 1) == (value > fence.high_mild)
        assert (label == 2) == (value > fence.high_severe)


@steady
@given(samples(max_size=60))
def test_counts_are_the_labels_counted(values: FloatArray) -> None:
    found = labels(values)
    expected = [np.count_nonzero(found == label) for label in (-2, -1, 1, 2)]
    assert list(count_outliers(values)) == expected


@steady
@given(samples(max_size=60))
def test_fences_are_in_order_and_at_least_half_is_regular(values: FloatArray) -> None:
    fence = fences(values)
    assert fence.low_severe <= fence.low_mild <= fence.high_mild <= fence.high_severe
    assert 2 * np.count_nonzero(labels(values) == 0) >= values.size


@steady
@given(st.lists(samples(), min_size=1, max_size=4))
def test_padding_is_never_an_outlier(rows: list[FloatArray]) -> None:
    counts = count_outliers(pad(rows))
    assert [Counts(*one) for one in zip(*counts, strict=True)] == [count_outliers(row) for row in rows]


def test_example_by_hand() -> None:
    # The quartiles are the 4th and the 10th of the 13 sorted values, 2 and 8; their distance is 6.
    values = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, -17, -8, 18, 27])
    assert [*fences(values)] == [-16.0, -7.0, 17.0, 26.0]
    assert labels(values).tolist() == [0] * 9 + [-2, -1, 1, 2]
    assert [*count_outliers(values)] == [1, 1, 1, 1]


def test_on_the_fence_is_inside() -> None:
    values = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, -16, -7, 17, 26])
    assert labels(values).tolist() == [0] * 9 + [-1, 0, 0, 1]


def test_without_spread_everything_else_is_severe() -> None:
    assert [*count_outliers(np.array([1.0] * 9 + [1.001]))] == [0, 0, 0, 1]
