"""Softmax by Triton: all kinds of rows and widths against float64, where torch is undefined, compiled."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.zoo.kernels import softmax as kernel
from stepmark.zoo.kernels.softmax import Tiling
from stepmark.zoo.softmax import TOLERANCES, softmax
from tests.zoo.kernels.rows import KINDS, assert_near, drawn

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
# Rows that do not exist are -inf throughout; what comes of them, in NumPy with a warning, is not stored.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
TILINGS = [Tiling(8, 1, 1), Tiling(16, 4, 2), Tiling(64, 2, 4)]


def compare(x: torch.Tensor, g: torch.Tensor, dim: int = -1) -> None:
    wide = x.detach().double().requires_grad_()
    y, right = softmax(x, dim=dim, backend="triton"), torch.softmax(wide, dim)
    assert y.dtype == x.dtype
    assert_near(y, right, TOLERANCES[x.dtype], beside=1.0)
    (found,) = torch.autograd.grad(y, x, g)
    (correct,) = torch.autograd.grad(right, wide, g.double())
    assert_near(found, correct, TOLERANCES[x.dtype], beside=float(g.abs().max()))


@settings(max_examples=15)
@given(st.integers(1, 9), st.integers(1, 60), st.sampled_from(DTYPES), st.sampled_from(TILINGS))
def test_every_tiling_against_float64(
    device: str, num_rows: int, width: int, dtype: torch.dtype, tiling: Tiling
) -> None:
    x, g = (drawn(num_rows, width, dtype=dtype, device=device, seed=seed).detach() for seed in (0, 1))
    y = kernel.forward(x, tiling=tiling)
    right = torch.softmax(x.double(), -1)
    assert_near(y, right, TOLERANCES[dtype], beside=1.0)
    found = kernel.backward(g, y, tiling=tiling)
    wide, incoming = y.double(), g.double()
    correct = wide * (incoming - (wide * incoming).sum(-1, keepdim=True))
    assert_near(found, correct, TOLERANCES[dtype], beside=float(g.abs().max()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_kinds_of_rows(device: str, kind: str, dtype: torch.dtype) -> None:
    g = drawn(5, 40, dtype=dtype, device=device, seed=1).detach()
    compare(drawn(5, 40, dtype=dtype, device=device, kind=kind), g)


@pytest.mark.parametrize("width", [1, 7, 768, 1600, 5000, 17000])
def test_widths(device: str, width: int) -> None:
    """The last is too wide for registers."""
    x, g = (drawn(2, width, dtype=torch.bfloat16, device=device, seed=seed) for seed in (0, 1))
    compare(x, g.detach())


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_dimensions_and_layouts(device: str, dim: int) -> None:
    x = drawn(4, 5, 6, dtype=torch.float32, device=device).detach().transpose(0, 2).requires_grad_()
    g = drawn(4, dtype=torch.float32, device=device, seed=1).detach().expand(6, 5, 4)
    compare(x, g, dim)


@pytest.mark.parametrize("width", [6, 17000])
def test_masked_and_undefined_rows(device: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "WIDE_SIZE", 4096)
    x = torch.zeros(4, width, device=device)
    x[0, 1:-1] = -torch.inf
    x[1] = -torch.inf
    x[2, 2] = torch.nan
    x[3, 2] = torch.inf
    y = softmax(x, backend="triton")
    assert y[0, 0] == y[0, -1] == 0.5
    assert not y[0, 1:-1].any()
    assert y[1:].isnan().all()


def test_no_rows(device: str) -> None:
    x = drawn(0, 8, dtype=torch.float32, device=device)
    y = softmax(x, backend="triton")
    assert y.shape == (0, 8)
    assert torch.autograd.grad(y, x, torch.ones_like(y))[0].shape == (0, 8)


def test_second_derivatives(device: str) -> None:
    x = drawn(3, 6, dtype=torch.float32, device=device)
    found = []
    for backend in ("triton", "torch"):
        (first,) = torch.autograd.grad(
            softmax(x, backend=backend).square().sum(),
            x,
            create_graph=True,
        )
        found.append(torch.autograd.grad(first.square().sum(), x)[0])
    assert_near(found[0], found[1], 1e-5)


def test_compiled_it_is_the_same(device: str) -> None:
    torch.compiler.reset()
    x, g = (drawn(3, 7, dtype=torch.float32, device=device, seed=seed) for seed in (0, 1))
    compiled = torch.compile(
        lambda x: softmax(2.0 * x, backend="triton"), backend="aot_eager", fullgraph=True
    )
    found, right = compiled(x), torch.softmax(2.0 * x, -1)
    assert_near(found, right, 1e-6)
    assert_near(torch.autograd.grad(found, x, g)[0], torch.autograd.grad(right, x, g)[0], 1e-6)


def test_what_the_kernel_refuses(device: str) -> None:
    with pytest.raises(ValueError, match=r"backend='triton' cannot be used: .* a tensor is torch.float64"):
        softmax(torch.ones(2, 3, dtype=torch.float64, device=device), backend="triton")
    with pytest.raises(ValueError, match="expected backend"):
        softmax(torch.ones(2, 3), backend="cuda")  # type: ignore[arg-type]
