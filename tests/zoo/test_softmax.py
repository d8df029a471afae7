"""Softmax: both ways against float64, where a naive one overflows, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.softmax import TOLERANCES, softmax, softmax_reference
from tests.support.properties import steady

BOTH = [softmax, softmax_reference]
shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


def drawn(shape: tuple[int, ...], dtype: torch.dtype, *, spread: float = 3.0) -> Tensor:
    generator = torch.Generator().manual_seed(len(shape))
    return (spread * torch.randn(shape, generator=generator)).to(dtype).requires_grad_()


def by_definition(x: Tensor, dim: int) -> Tensor:
    """In float64, without the subtraction."""
    exponentials = x.double().exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


@steady
@given(shapes, st.data(), st.sampled_from(BOTH), st.sampled_from(list(TOLERANCES)))
def test_outputs_and_gradients_against_float64(
    shape: tuple[int, ...], data: st.DataObject, function: Callable[..., Tensor], dtype: torch.dtype
) -> None:
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = drawn(shape, dtype)
    wide = x.detach().double().requires_grad_()
    g = torch.randn(shape).to(dtype)
    y, expected = function(x, dim=dim), by_definition(wide, dim)
    torch.autograd.backward(y, g)
    torch.autograd.backward(expected, g.double())
    assert y.dtype == dtype
    assert x.grad is not None
    assert wide.grad is not None
    tolerance = TOLERANCES[dtype]
    torch.testing.assert_close(y.detach().double(), expected.detach(), rtol=0.0, atol=tolerance)
    largest = max(float(g.abs().max()), 1e-30)
    torch.testing.assert_close(x.grad.double(), wide.grad, rtol=0.0, atol=tolerance * largest)


@pytest.mark.parametrize("function", BOTH)
def test_gradcheck(function: Callable[..., Tensor]) -> None:
    x = drawn((3, 4, 2), torch.float64)
    assert torch.autograd.gradcheck(lambda x: function(x, dim=1), (x,))


@pytest.mark.parametrize("function", BOTH)
@pytest.mark.parametrize("dtype", list(TOLERANCES))
@pytest.mark.parametrize("shift", [1000.0, -1000.0, 60000.0])
def test_large_values_neither_overflow_nor_change_the_answer(
    function: Callable[..., Tensor], dtype: torch.dtype, shift: float
) -> None:
    steps = torch.tensor([0.0, 1024.0, -1024.0])  # beyond every dtype's exponent range, as exponents
    y = function((steps + shift).to(dtype))
    assert y.tolist() == [0.0, 1.0, 0.0]
    assert torch.equal(function(torch.full((4,), shift).to(dtype)), torch.full((4,), 0.25).to(dtype))


@pytest.mark.parametrize("function", BOTH)
def test_masked_entries_get_nothing_and_a_masked_row_is_undefined(function: Callable[..., Tensor]) -> None:
    x = torch.tensor([[0.0, -torch.inf, 0.0], [-torch.inf, -torch.inf, -torch.inf]])
    y = function(x)
    assert y[0].tolist() == [0.5, 0.0, 0.5]
    assert y[1].isnan().all()


@pytest.mark.parametrize("function", BOTH)
def test_compiled_it_is_the_same(function: Callable[..., Tensor]) -> None:
    torch.compiler.reset()
    x = drawn((5, 7), torch.float32)
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), function(x))


@pytest.mark.parametrize("function", BOTH)
def test_what_is_refused(function: Callable[..., Tensor]) -> None:
    with pytest.raises(ValueError, match=r"floating-point numbers, not torch\.int64"):
        function(torch.arange(3))
    with pytest.raises(ValueError, match="along dimension 2 of a tensor that has 2 dimensions"):
        function(torch.randn(3, 4), dim=2)
    with pytest.raises(ValueError, match="there is nothing to sum"):
        function(torch.randn(3, 0))
