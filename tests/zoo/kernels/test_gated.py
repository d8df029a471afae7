"""SwiGLU's gate by the kernel: output and gradient against float64, whatever the numbers and shapes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import silu

from stepmark.zoo.kernels.gated import TOLERANCES, silu_gate
from tests.support.properties import steady
from tests.zoo.agreement import largest_error

# Of NumPy, in the interpreter: the sigmoid of a large negative number is 1 / (1 + inf), which is right.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in exp")


def check(packed: Tensor, gradient: Tensor) -> None:
    given_, wide = packed.detach().requires_grad_(), packed.detach().double().requires_grad_()
    y = silu_gate(given_, backend="triton")
    gate, up = wide.chunk(2, dim=-1)
    exact = silu(gate) * up
    torch.autograd.backward([y, exact], [gradient, gradient.double()])
    assert y.dtype == packed.dtype
    least = torch.finfo(packed.dtype).tiny
    assert largest_error(y, exact, least=least) <= TOLERANCES[packed.dtype]
    assert largest_error(given_.grad, wide.grad, least=least) <= TOLERANCES[packed.dtype]


@settings(steady, max_examples=12)
@given(
    st.lists(st.integers(1, 3), max_size=2),
    st.sampled_from([1, 7, 32, 1025]),
    st.sampled_from(list(TOLERANCES)),
    st.sampled_from([1.0, 0.0, 1e-3, 30.0]),
)
def test_output_and_gradient_against_float64(
    device: str, lead: list[int], width: int, dtype: torch.dtype, size: float
) -> None:
    random = torch.Generator().manual_seed(width)
    packed = (size * torch.randn(*lead, 2 * width, generator=random)).to(device, dtype)
    check(packed, torch.randn(*lead, width, generator=random).to(device, dtype))


def test_strides_do_not_matter(device: str) -> None:
    packed = torch.randn(6, 5, device=device).T
    check(packed, torch.randn(3, 5, device=device).T)


def test_nothing_in_nothing_out(device: str) -> None:
    packed = torch.randn(0, 8, device=device, requires_grad=True)
    y = silu_gate(packed, backend="triton")
    y.sum().backward()  # type: ignore[no-untyped-call]
    assert y.shape == (0, 4)
    assert packed.grad is not None


def test_halves_must_be_halves(device: str) -> None:
    with pytest.raises(ValueError, match=r"two halves, got \(2, 5\)"):
        silu_gate(torch.zeros(2, 5, device=device))
