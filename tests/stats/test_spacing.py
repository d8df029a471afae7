"""Spacing: doubling values are geometric, evenly spaced ones are not, whatever their unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.spacing import LEAST_RANGE, is_geometric
from tests.support.properties import steady


@given(start=st.floats(1e-6, 1e6), factor=st.floats(1.5, 10.0), num=st.integers(5, 9))
@steady
def test_values_that_grow_by_a_factor_are_geometric(start: float, factor: float, num: int) -> None:
    assert is_geometric(start * factor**n for n in range(num))


@given(start=st.floats(1.0, 1e3), step=st.floats(0.1, 1e3), num=st.integers(3, 9))
@steady
def test_values_that_grow_by_a_difference_are_not(start: float, step: float, num: int) -> None:
    assert not is_geometric(start + step * n for n in range(num))


@given(values=st.lists(st.integers(1, 10_000), min_size=2, max_size=8), unit=st.floats(1e-3, 1e3))
@steady
def test_neither_unit_nor_order_nor_repetition_matter(values: list[int], unit: float) -> None:
    expected = is_geometric(values)
    assert is_geometric([*reversed(values), *values]) is expected
    if max(values) != LEAST_RANGE * min(values):
        assert is_geometric(unit * value for value in values) is expected


@pytest.mark.parametrize("values", [(), (5.0,), (5.0, 5.0), (0.0, 10.0, 100.0), (-4.0, 4.0), (2.0, 6.0)])
def test_few_values_a_small_range_and_what_has_no_logarithm_are_not(values: tuple[float, ...]) -> None:
    assert not is_geometric(values)


def test_two_values_far_apart_are() -> None:
    assert is_geometric((128.0, 1024.0))
