"""Gradients of matrices from few rows: float32's own, whatever the sizes, and taken where they are faster."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.kernels import few_rows_gradients, fragmented_gate
from stepmark.zoo.kernels.few_rows import MOST_ROWS
from stepmark.zoo.kernels.fragmented_gate import soft
from stepmark.zoo.kernels.fragmented_sizes import Parameters
from tests.zoo.agreement import largest_error
from tests.zoo.kernels.fragmented_cases import draw
from tests.zoo.kernels.stands_in import StandsIn
from tests.zoo.kernels.thinning import number_of_examples

NAMES = list(few_rows_gradients.TILES)


@settings(max_examples=number_of_examples(compiled=40, interpreted=12))
@given(
    name=st.sampled_from(NAMES),
    sizes=st.tuples(st.integers(1, MOST_ROWS), st.integers(1, 40), st.integers(1, 1100)),
    seed=st.integers(0, 2**31),
)
def test_odd_sizes(device: str, name: str, sizes: tuple[int, int, int], seed: int) -> None:
    torch.manual_seed(seed)
    rows, height, width = sizes
    a, b = torch.randn(rows, height, device=device), torch.randn(rows, width, device=device)
    found = few_rows_gradients._by_tiles(a, b, name)
    assert largest_error(found, a.double().t() @ b.double()) <= 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_rows_may_lie_anywhere(device: str, name: str) -> None:
    a, b = torch.randn(20, 3, device=device).t(), torch.randn(1, 70, device=device).expand(3, 70)
    found = few_rows_gradients._by_tiles(a, b, name)
    assert found.is_contiguous()
    torch.testing.assert_close(found, a.t() @ b)


@pytest.mark.filterwarnings(
    "ignore:invalid value encountered:RuntimeWarning"
)  # NumPy, behind the last column
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_finite_stays_so_and_where_it_is(device: str, name: str, value: float) -> None:
    """Three rows, in a kernel for four: what is not there adds nothing."""
    a, b = torch.ones(3, 20, device=device), torch.ones(3, 600, device=device)
    a[1, 7] = value
    found = few_rows_gradients._by_tiles(a, b, name)
    right = torch.full_like(found, 3.0)
    right[7] = value
    torch.testing.assert_close(found, right, rtol=0.0, atol=0.0, equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_layers_gradients_are_these(device: str, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Of weight, compressor and decompressor."""
    x, parameters = draw((5, 3, 4, 7, 2), torch.float32, device, bias=True)
    shapes: list[tuple[int, ...]] = []

    def by_tiles(a: Tensor, b: Tensor) -> Tensor:
        shapes.append((a.shape[1], b.shape[1]))
        return few_rows_gradients._by_tiles(a, b, name)

    def gradients() -> tuple[Tensor, ...]:
        leaves = [one.detach().clone().requires_grad_() for one in parameters if one is not None]
        y = soft(x, Parameters(*leaves))
        return torch.autograd.grad(y, leaves, torch.ones_like(y))

    right = gradients()
    monkeypatch.setattr(fragmented_gate, "turned_product", by_tiles)
    for found, expected in zip(gradients(), right, strict=True):
        torch.testing.assert_close(found, expected)
    assert shapes == [(12, 7), (12, 2), (7, 2)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Sizes that were measured, on a GPU that is none: torch was the fastest, where it could be."""
    seen: list[tuple[int, ...]] = []

    def choose(operation: str, key: tuple[int, ...], candidates: dict[str, object], *, default: str) -> str:
        assert operation == few_rows_gradients.OPERATION
        assert [*candidates] == ["torch", *NAMES]
        seen.append(key)
        return default

    monkeypatch.setattr(few_rows_gradients, "choose", choose)
    monkeypatch.setattr(few_rows_gradients, "_chosen", {})
    return seen


def test_a_choice_is_for_sizes(stands_in: StandsIn, asked: list[tuple[int, ...]]) -> None:
    for rows in (3, 4, 3, MOST_ROWS + 1):
        a, b = stands_in.tensor(rows, 8), torch.ones(rows, 12)
        assert few_rows_gradients.turned_product(a, b).shape == (8, 12)
    assert few_rows_gradients.turned_product(torch.ones(3, 8), torch.ones(3, 16)).shape == (8, 16)
    assert asked == [(4, 8, 12), (4, 8, 12)]


def test_what_was_taken_in_a_capture_is_not_remembered(
    stands_in: StandsIn, asked: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = stands_in.tensor(3, 8), torch.ones(3, 12)
    monkeypatch.setattr(few_rows_gradients, "is_for_a_graph", lambda: True)
    for capturing, expected in ((True, 1), (True, 2), (False, 3), (False, 3), (True, 3)):
        monkeypatch.setattr(few_rows_gradients, "is_capturing", lambda capturing=capturing: capturing)
        few_rows_gradients.turned_product(a, b)
        assert len(asked) == expected
