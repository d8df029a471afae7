"""Values: what is degenerate and what only looks unusual."""

from __future__ import annotations

from math import inf, isfinite, nan
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.instruments.inspection.values import SAMPLE, degenerate, degenerates, not_finite
from stepmark.records.inspection import Degenerate, ValueKind

FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
few = settings(max_examples=25)


def look(tensor: torch.Tensor) -> Degenerate | None:
    return degenerate(ValueKind.INPUT, "input 0", tensor)


@few
@given(st.sampled_from(FLOATS), st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_normal_values_are_not_listed(dtype: torch.dtype, shape: list[int]) -> None:
    values = torch.randn(*shape, 2).to(dtype)
    values[..., 0], values[..., 1] = 1.0, -1.5
    assert look(values) is None


@few
@given(st.sampled_from(FLOATS), st.integers(2, 50), st.sampled_from([0.0, 1.0, -2.5]))
def test_constants_are_listed(dtype: torch.dtype, size: int, value: float) -> None:
    found = look(torch.full((size,), value, dtype=dtype))
    assert found is not None
    assert (found.constant, found.zero, found.elements) == (True, value == 0, size)


def test_a_wide_layer_in_float16_begins_with_ordinary_numbers() -> None:
    torch.manual_seed(0)
    weight = torch.nn.Linear(16384, 64, dtype=torch.float16).weight.detach()
    assert (weight.abs() < torch.finfo(torch.float16).tiny).float().mean() > 0.005
    assert look(weight) is None


@few
@given(st.sampled_from(FLOATS), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))
def test_strange_numbers_are_counted(dtype: torch.dtype, nan: int, infinite: int, denormal: int) -> None:
    tiny = torch.finfo(dtype).tiny / 2
    values = [1.0, 2.0] + [float("nan")] * nan + [float("-inf")] * infinite + [tiny] * denormal
    found = look(torch.tensor(values, dtype=dtype))
    counted = (found.nan, found.infinite, found.denormal) if found else (0, 0, 0)
    assert counted == (nan, infinite, 0 if dtype is torch.float16 else denormal)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(()),
        torch.ones(1),
        torch.zeros(0),
        torch.zeros(5, dtype=torch.int64),
        torch.ones(5, dtype=torch.bool),
        torch.zeros(5, device="meta"),
    ],
)
def test_single_numbers_and_whole_numbers_are_not_listed(tensor: torch.Tensor) -> None:
    assert look(tensor) is None


def test_other_layouts_are_looked_at_where_they_have_values() -> None:
    nan = torch.eye(3) * float("nan")
    assert (found := look(nan.to_sparse())) is not None
    assert found.nan > 0
    assert (found := look(torch.tensor([1 + 1j, complex("nan")]))) is not None
    assert found.nan == 1
    assert (found := look(torch.zeros(4).to(torch.float8_e4m3fn))) is not None
    assert found.zero
    nested = torch.nested.nested_tensor([torch.zeros(2, 3), torch.zeros(1, 3)], layout=torch.jagged)
    assert (found := look(nested)) is not None
    assert (found.zero, found.elements) == (True, 9)


def test_ones_among_the_zeros_of_a_sparse_tensor_are_not_the_same_everywhere() -> None:
    assert look(torch.eye(3).to_sparse()) is None
    assert (found := look(torch.ones(3, 3).to_sparse())) is not None
    assert found.constant
    assert (found := look(torch.eye(3).to_sparse() * 0)) is not None
    assert found.zero


def test_a_large_tensor_is_sampled_and_scaled_up() -> None:
    values = torch.ones(2 * SAMPLE + 1)
    values[::2] = float("nan")
    found = look(values)
    assert found is not None
    assert found.elements == values.numel()
    assert 0 < found.nan <= values.numel()


def test_names_and_dimensions_come_along() -> None:
    (found,) = degenerates(ValueKind.WEIGHT, [("a", torch.zeros(2, 3)), ("b", torch.tensor([1.0, 2.0]))])
    assert (found.kind, found.name, found.dimensions) == (ValueKind.WEIGHT, "a", 2)


@given(
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from([0.0, 1.0, 1e30, nan, inf, -inf])),
    st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
)
def test_weights_that_are_not_finite_are_named(values: dict[str, float], dtype: torch.dtype) -> None:
    tensors = {name: torch.ones(3, 4, dtype=dtype) for name in values}
    for name, value in values.items():
        tensors[name][1, 2] = value
    strange = [name for name, value in values.items() if not isfinite(value)]
    assert [*not_finite(tensors)] == strange


def test_what_has_no_floating_point_numbers_is_finite() -> None:
    assert not_finite({"a": torch.ones(3, dtype=torch.int8), "b": torch.empty(0)}) == ()


class Closed(torch.Tensor):
    """Knows no operation."""

    @classmethod
    def __torch_function__(cls, func: Any, *_: Any) -> Any:
        raise NotImplementedError(func)


def test_what_allows_no_look_is_not_called_spoiled() -> None:
    closed = torch.full((3,), nan).as_subclass(Closed)
    assert not_finite({"closed": closed, "open": torch.full((3,), nan)}) == ("open",)
