"""Rows to try kernels on, and how close to float64 they must come."""

from __future__ import annotations

import torch
from torch import Tensor

KINDS = ("random", "skewed", "constant", "zero", "huge", "tiny")


def drawn(*shape: int, dtype: torch.dtype, device: str, kind: str = "random", seed: int = 0) -> Tensor:
    """Wants a gradient. Huge values are such that a row's squares still fit float32, or fit float16."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(shape, generator=generator)
    if kind == "skewed":
        values = values + 30.0
    if kind == "constant":
        values = torch.full(shape, 3.0)
    if kind == "zero":
        values = torch.zeros(shape)
    if kind == "huge":
        values = values * (1e4 if dtype == torch.float16 else 1e15)
    if kind == "tiny":
        values = values * (1e-6 if dtype == torch.float16 else 1e-20)
    return values.to(device, dtype).requires_grad_()


def assert_near(found: Tensor, expected: Tensor, tolerance: float, *, beside: float = 0.0) -> None:
    """Largest error, relative to the largest entry, or to `beside` if that is larger."""
    assert found.shape == expected.shape
    largest = float(expected.detach().abs().max()) if expected.numel() else 0.0
    torch.testing.assert_close(
        found.detach().double().cpu(),
        expected.detach().double().cpu(),
        rtol=0.0,
        atol=tolerance * max(largest, beside),
    )
