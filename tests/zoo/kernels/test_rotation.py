"""Packed projections to rotated heads by the kernel: against float64, both ways, in any shape."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.kernels.backend import Backend
from stepmark.zoo.kernels.rotation import TOLERANCES, rotated_heads
from stepmark.zoo.rope import Rope, rotate_reference
from tests.support.properties import steady
from tests.zoo.agreement import largest_error


def by_definition(packed: Tensor, heads: int) -> list[Tensor]:
    batch, length, width = packed.shape
    parts = packed.view(batch, length, 3, heads, width // 3 // heads).permute(2, 0, 3, 1, 4)
    return [rotate_reference(parts[0]), rotate_reference(parts[1]), parts[2]]


def check(packed: Tensor, heads: int, gradients: list[Tensor]) -> None:
    features = packed.shape[-1] // 3 // heads
    cos, sin = Rope(features, packed.shape[1], device=packed.device)(packed.shape[1])
    own, wide = packed.detach().requires_grad_(), packed.detach().cpu().double().requires_grad_()
    found, exact = rotated_heads(own, cos, sin, heads, backend="triton"), by_definition(wide, heads)
    torch.autograd.backward(found, gradients)
    torch.autograd.backward(exact, [one.cpu().double() for one in gradients])
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == packed.dtype
        assert largest_error(one, other) <= TOLERANCES[packed.dtype]
    assert largest_error(own.grad, wide.grad) <= TOLERANCES[packed.dtype]


@settings(steady, max_examples=10)
@given(
    st.integers(1, 2), st.integers(1, 5), st.integers(1, 3), st.integers(1, 5), st.sampled_from([*TOLERANCES])
)
def test_heads_and_gradient_against_float64(
    device: str, batch: int, length: int, heads: int, pairs: int, dtype: torch.dtype
) -> None:
    random = torch.Generator().manual_seed(length)
    packed = torch.randn(batch, length, 6 * heads * pairs, generator=random).to(device, dtype)
    shape = (batch, heads, length, 2 * pairs)
    check(packed, heads, [torch.randn(shape, generator=random).to(device, dtype) for _ in range(3)])


@pytest.mark.parametrize(("heads", "features"), [(1, 1030), (9, 128)])
def test_rows_longer_than_a_block(device: str, heads: int, features: int) -> None:
    packed = torch.randn(1, 3, 3 * heads * features, device=device)
    check(packed, heads, [torch.randn(1, heads, 3, features, device=device) for _ in range(3)])


def test_strides_do_not_matter(device: str) -> None:
    packed = torch.randn(24, 4, 2, device=device).permute(2, 1, 0)
    gradients = [torch.randn(2, 4, 2, 4, device=device).transpose(1, 2) for _ in range(3)]
    check(packed, 2, gradients)


def test_torchs_chain_gives_the_same(device: str) -> None:
    packed, (cos, sin) = torch.randn(2, 5, 24, device=device), Rope(4, 8, device=device)(5)
    in_torch = rotated_heads(packed, cos, sin, 2, backend="torch")
    by_kernel = rotated_heads(packed, cos, sin, 2, backend="triton")
    for one, other in zip(in_torch, by_kernel, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("backend", ["torch", "triton"])
def test_no_sequences_have_no_heads_to_rotate(device: str, backend: Backend) -> None:
    packed = torch.zeros(0, 5, 24, device=device, requires_grad=True)
    cos, sin = Rope(4, 8, device=device)(5)
    parts = rotated_heads(packed, cos, sin, 2, backend=backend)
    assert [one.shape for one in parts] == [(0, 2, 5, 4)] * 3
    (gradient,) = torch.autograd.grad([one.sum() for one in parts], packed)
    assert gradient.shape == packed.shape


def test_wrong_shapes_are_told(device: str) -> None:
    cos, sin = Rope(4, 8, device=device)(5)
    with pytest.raises(ValueError, match=r"= \(B, 5, 24\) for 2 heads .*, got \(2, 5, 23\)"):
        rotated_heads(torch.zeros(2, 5, 23, device=device), cos, sin, 2)
    with pytest.raises(ValueError, match=r"tables for 4 positions, got \(5, 2\) and \(5, 2\)"):
        rotated_heads(torch.zeros(2, 4, 24, device=device), cos, sin, 2)


def test_tables_that_a_kernel_would_read_wrongly_are_told(device: str) -> None:
    packed, (cos, sin) = torch.zeros(2, 5, 24, device=device), Rope(4, 8, device=device)(5)
    with pytest.raises(ValueError, match=r"one dtype on .*, got torch\.float32 on .* and torch\.float64 on"):
        rotated_heads(packed, cos, sin.double(), 2, backend="triton")
    with pytest.raises(ValueError, match=r"torch\.float32 on meta and torch\.float32 on meta"):
        rotated_heads(packed, cos.to("meta"), sin.to("meta"), 2, backend="triton")
