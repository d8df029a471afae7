"""Impressions: equal for equal values, unequal for others, whatever the dtype and layout."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.instruments.inspection.impression import impression, impressions

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int8, torch.bool, torch.complex64]


@settings(max_examples=40)
@given(st.sampled_from(DTYPES), st.integers(1, 9000), st.data())
def test_a_change_of_any_element_is_noticed(dtype: torch.dtype, size: int, data: st.DataObject) -> None:
    values = torch.zeros(size, dtype=dtype)
    place = data.draw(st.integers(0, size - 1))
    before = impression(values)
    assert impression(values.clone()) == before
    values[place] = 1
    assert impression(values) != before


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2, 3, 4)])
def test_every_shape_has_one(shape: tuple[int, ...]) -> None:
    assert impression(torch.ones(shape)) == impression(torch.ones(shape))


def test_numbers_that_swap_their_signs_are_noticed() -> None:
    values = torch.tensor([1.0, -1.0])
    assert impression(values) != impression(-values)


def test_sparse_tensors_have_one() -> None:
    assert impression(torch.eye(5).to_sparse()) != impression(torch.zeros(5, 5).to_sparse())


def test_a_quick_look_sees_what_changes_everywhere() -> None:
    tensors = [torch.ones(10_000), torch.ones(3)]
    before = impressions(tensors)
    tensors[0] *= 2
    assert [one == other for one, other in zip(before, impressions(tensors), strict=True)] == [False, True]
