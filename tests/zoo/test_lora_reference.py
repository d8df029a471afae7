"""The literal LoRA: against numbers worked out by hand, and its gradients against autograd."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stepmark.zoo.lora_reference import (
    lora_adapter_reference,
    lora_gradients_reference,
    lora_linear_reference,
)
from tests.support.properties import steady

sizes = st.integers(1, 9)
leading = st.lists(st.integers(0, 3), max_size=3).map(tuple)


def drawn(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


def test_a_case_worked_out_by_hand() -> None:
    x = torch.tensor([[1.0, 2.0]])
    weight, bias = torch.tensor([[3.0, 0.0], [0.0, 5.0], [1.0, 1.0]]), torch.tensor([0.5, 0.0, -1.0])
    a, b = torch.tensor([[1.0], [-1.0]]), torch.tensor([[2.0, 0.0, 4.0]])
    # x W^T = (3, 10, 3); x A = -1; (x A) B = (-2, 0, -4), twice that is (-4, 0, -8)
    assert lora_adapter_reference(x, a, b, scale=2.0).tolist() == [[-4.0, 0.0, -8.0]]
    assert lora_linear_reference(x, weight, bias, a, b, scale=2.0).tolist() == [[-0.5, 10.0, -6.0]]
    assert lora_linear_reference(x, weight, None, a, b, scale=2.0).tolist() == [[-1.0, 10.0, -5.0]]


@steady
@given(leading, sizes, sizes, sizes, st.sampled_from([0.5, 2.0, -3.0]), st.booleans())
def test_the_gradients_are_those_of_autograd(
    lead: tuple[int, ...], inputs: int, outputs: int, rank: int, scale: float, with_base: bool
) -> None:
    x, g = drawn(*lead, inputs, seed=0), drawn(*lead, outputs, seed=1).detach()
    a, b = drawn(inputs, rank, seed=2), drawn(rank, outputs, seed=3)
    weight = drawn(outputs, inputs, seed=4).detach() if with_base else None
    if weight is None:
        y = lora_adapter_reference(x, a, b, scale=scale)
    else:
        y = lora_linear_reference(x, weight, None, a, b, scale=scale)
    expected = torch.autograd.grad(y, (x, a, b), g)
    with torch.no_grad():
        found = lora_gradients_reference(g, x, weight, a, b, scale=scale)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scale", [0.0, 2.0])
def test_a_zero_b_leaves_the_base(scale: float) -> None:
    x, weight, a = drawn(4, 3, seed=0), drawn(5, 3, seed=1), drawn(3, 2, seed=2)
    y = lora_linear_reference(x, weight, None, a, torch.zeros(2, 5, dtype=torch.float64), scale=scale)
    assert torch.equal(y, x @ weight.T)
