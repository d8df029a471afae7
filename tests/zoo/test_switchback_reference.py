"""The definition of SwitchBack: within its error bound of the plain layer, and exact where codes are."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.switchback_reference import (
    backward_reference,
    error_bound,
    forward_reference,
)
from tests.support.properties import steady

KINDS = ["vector", "global"]


@st.composite
def problems(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor]:
    """x, weight and a gradient, rows of very different sizes, some of them nought."""
    b, n, o = (draw(st.integers(1, most)) for most in (5, 9, 7))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    made = []
    for rows, columns in ((b, n), (o, n), (b, o)):
        powers = torch.tensor(draw(st.lists(st.integers(-20, 8), min_size=rows, max_size=rows)))
        matrix = torch.randn(rows, columns, generator=generator) * 2.0 ** powers.unsqueeze(-1)
        matrix[draw(st.lists(st.integers(0, rows - 1), max_size=1))] = 0.0
        made.append(matrix)
    return made[0], made[1], made[2]


def maxima(x: Tensor, dim: int | None) -> Tensor:
    return x.abs().max().reshape(1, 1) if dim is None else x.abs().amax(dim, keepdim=True)


@steady
@given(problems(), st.sampled_from(KINDS))
def test_the_error_is_within_its_bound(problem: tuple[Tensor, Tensor, Tensor], kind: str) -> None:
    x, weight, grad = problem
    vector = kind == "vector"
    y = forward_reference(x, weight, quantization=kind)
    bound = error_bound(x, weight.T, maxima(x, 1), maxima(weight, 1 if vector else None).T)
    assert ((y - x.double() @ weight.double().T).abs() <= bound * 1.0002).all()
    dx = backward_reference(grad, x, weight, quantization=kind).x
    bound = error_bound(grad, weight, maxima(grad, 1), maxima(weight, 0 if vector else None))
    assert ((dx - grad.double() @ weight.double()).abs() <= bound * 1.0002).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_of_the_errors_size(kind: str) -> None:
    """A bound that is never approached would let anything pass: errors of random data reach a tenth of it."""
    generator = torch.Generator().manual_seed(0)
    x, weight = torch.randn(64, 8, generator=generator), torch.randn(64, 8, generator=generator)
    scale = maxima(weight, 1).T if kind == "vector" else maxima(weight, None)
    bound = error_bound(x, weight.T, maxima(x, 1), scale)
    error = (forward_reference(x, weight, quantization=kind) - x.double() @ weight.double().T).abs()
    assert 0.1 < (error / bound).max() <= 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_up_to_127_are_exact(kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    x, weight, grad = (
        torch.randint(-127, 128, shape, generator=generator).float() for shape in ((5, 9), (7, 9), (5, 7))
    )
    for matrix in (x, weight, grad):
        matrix[:, 0] = 127.0
        matrix[0, :] = 127.0
    bias = torch.randn(7, generator=generator)
    y = forward_reference(x, weight, bias, quantization=kind)
    torch.testing.assert_close(y, x.double() @ weight.double().T + bias.double(), rtol=1e-14, atol=0.0)
    for memory_efficient in (False, True):
        found = backward_reference(grad, x, weight, quantization=kind, memory_efficient=memory_efficient)
        torch.testing.assert_close(found.x, grad.double() @ weight.double(), rtol=1e-14, atol=0.0)
        torch.testing.assert_close(found.weight, grad.double().T @ x.double(), rtol=1e-14, atol=0.0)
        assert torch.equal(found.bias, grad.double().sum(0))


def test_the_bound_by_hand() -> None:
    # half a step is 0.5 of x and 1 of w: 0.5 (254 + 2) + 1 (127 + 1) + 2 features of 0.5 * 1
    x, weight = torch.tensor([[127.0, 1.0]]), torch.tensor([[254.0], [2.0]])
    bound = error_bound(x, weight, torch.tensor([[127.0]]), torch.tensor([[254.0]]))
    assert bound.item() == pytest.approx(128.0 + 128.0 + 1.0)


def test_by_hand() -> None:
    # codes 127 and rint(0.3 * 127) = 38; weight codes 127 and -64 (of -63.5, to the even)
    x, weight = torch.tensor([[1.0, 0.3]]), torch.tensor([[2.0, -1.0]])
    y = forward_reference(x, weight)
    assert y.item() == pytest.approx(2.0 * (127 * 127 - 38 * 64) / 127**2)
    assert y.item() != pytest.approx(1.7, rel=1e-4)


def test_memory_efficient_gradients_use_the_quantised_input() -> None:
    x, weight, grad = torch.tensor([[1.0, 0.3]]), torch.ones(1, 2), torch.ones(1, 1)
    plain = backward_reference(grad, x, weight, quantization="global").weight
    kept = backward_reference(grad, x, weight, quantization="global", memory_efficient=True).weight
    assert plain[0].tolist() == pytest.approx([1.0, 0.3])
    assert kept[0].tolist() == pytest.approx([1.0, 38 / 127])


def test_one_scale_for_all_is_coarser_where_rows_differ() -> None:
    x, weight = torch.ones(1, 2), torch.tensor([[1.0, 1.0], [1e-3, 1e-3]])
    assert forward_reference(x, weight, quantization="vector")[0, 1].item() == pytest.approx(2e-3)
    assert forward_reference(x, weight, quantization="global")[0, 1].item() == 0.0
