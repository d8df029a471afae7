"""RoPE: rotary position embedding of interleaved pairs, with cached cosines and sines.

T sequence, D features of a head (even), ... any leading dimensions (batch, heads)

  angle[p, i] = p theta^(-2 i / D)                          positions p < T, pairs i < D / 2
  y[..., p, 2i]   = x[..., p, 2i] cos - x[..., p, 2i+1] sin
  y[..., p, 2i+1] = x[..., p, 2i] sin + x[..., p, 2i+1] cos

Source.  Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", arXiv 2104.09864.
Angles are taken in float64: bfloat16 would round position 511 itself to 512, and in float32 an angle of
16,000 is off by up to a thousandth. The tables are float32 (float64 in a float64 module), whatever type the
module is cast to; the product is rounded once, to the type of x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import torch
from torch import Tensor, nn

TOLERANCES = {torch.float64: 2e-15, torch.float32: 5e-7, torch.bfloat16: 8e-3, torch.float16: 1e-3}
"""Largest error of output and gradient against `rotate_reference` in float64, relative to the largest entry.
A gradient is the sum of two products, each rounded to the type of x before they meet."""


def rotate_reference(x: Tensor, *, theta: float = 10_000.0) -> Tensor:
    """Every position multiplied with its own block-diagonal matrix of 2 x 2 rotations; x (..., T, D)."""
    length, features = x.shape[-2:]
    rotated = []
    for position in range(length):
        matrix = torch.zeros(features, features, dtype=torch.float64, device=x.device)
        for pair in range(features // 2):
            angle = torch.tensor(position * theta ** (-2 * pair / features), dtype=torch.float64)
            even, odd = 2 * pair, 2 * pair + 1
            matrix[even, even], matrix[even, odd] = angle.cos(), -angle.sin()
            matrix[odd, even], matrix[odd, odd] = angle.sin(), angle.cos()
        rotated.append(x[..., position, :] @ matrix.T.to(x.dtype))
    return torch.stack(rotated, dim=-2)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the pairs of x (..., T, D) by tables (T, D / 2); the result has the type of x."""
    length, features = x.shape[-2:]
    if cos.dim() != 2 or cos.shape[0] != length or 2 * cos.shape[1] != features or sin.shape != cos.shape:
        raise ValueError(
            f"expected cosines and sines of shape (T, D / 2) = ({length}, {features} / 2) for x of shape "
            f"{tuple(x.shape)}, got {tuple(cos.shape)} and {tuple(sin.shape)}"
        )
    even, odd = x.view(*x.shape[:-1], features // 2, 2).unbind(-1)
    turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return turned.flatten(-2).to(x.dtype)


class Rope(nn.Module):
    """The cached tables: `rope(length)` gives the cosines and sines of the first positions."""

    cos: Tensor
    sin: Tensor

    def __init__(
        self,
        features: int,
        context: int,
        theta: float = 10_000.0,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if features < 2 or features % 2:
            raise ValueError(f"expected an even number of features, got {features}")
        if context < 1:
            raise ValueError(f"expected a context of at least 1, got {context}")
        self.features, self.context, self.theta = features, context, theta
        place = torch.empty(0, device=device, dtype=dtype)
        self._fill(place.device, place.dtype)

    def forward(self, length: int) -> tuple[Tensor, Tensor]:
        if not 0 < length <= self.context:
            raise ValueError(f"expected a length from 1 to the context {self.context}, got {length}")
        return self.cos[:length], self.sin[:length]

    def _fill(self, device: torch.device, dtype: torch.dtype) -> None:
        precise = torch.promote_types(dtype, torch.float32)
        pairs = torch.arange(0, self.features, 2, dtype=torch.float64, device=device)
        positions = torch.arange(self.context, dtype=torch.float64, device=device)
        angles = torch.outer(positions, self.theta ** (-pairs / self.features))
        self.register_buffer("cos", angles.cos().to(precise), persistent=False)
        self.register_buffer("sin", angles.sin().to(precise), persistent=False)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Self:
        """Moves and casts end here. The tables are made anew, because a cast to half precision would round
        them and `to_empty` would leave them unset: they are no part of the state dict that fills the rest."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._fill(self.cos.device, self.cos.dtype)
        return self

    def extra_repr(self) -> str:
        return f"{self.features}, context={self.context}, theta={self.theta:g}"
