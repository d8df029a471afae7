"""Fused layers of the transformer: fewer and larger products, and one kernel where there was a chain.

Queries, keys and values come from one product, and so do both halves of SwiGLU. Rotations and the gate are
one Triton kernel each way on a GPU (`backend` as of every kernel here), and norms where that is faster; plain
layers are torch's own throughout. The formulas, the number of parameters and the state dict are those of the
plain layers; what differs is the list of parameters (one tensor for three, one for two), and with it an
optimizer's state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stepmark.zoo.attention import ATTENTIONS
from stepmark.zoo.kernels.backend import Backend
from stepmark.zoo.kernels.gated import silu_gate
from stepmark.zoo.kernels.rotation import rotated_heads
from stepmark.zoo.projection import Projection, StackedProjection, name_parts
from stepmark.zoo.sizes import TransformerConfig


class FusedSelfAttention(nn.Module):
    """CausalSelfAttention with one product for queries, keys and values."""

    def __init__(
        self,
        config: TransformerConfig,
        *,
        backend: Backend = "auto",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.heads, self.kind, self.backend = config.heads, config.attention, backend
        width = config.d_model
        parts = ("query", "key", "value")
        self.qkv = StackedProjection(width, width, parts, device=device, dtype=dtype)
        self.output = Projection(width, width, device=device, dtype=dtype)
        name_parts(self)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        query, key, value = rotated_heads(self.qkv(x), cos, sin, self.heads, backend=self.backend)
        seen = ATTENTIONS[self.kind](query, key, value)
        joined: Tensor = self.output(seen.transpose(1, 2).flatten(-2))
        return joined

    def extra_repr(self) -> str:
        return f"heads={self.heads}, {self.kind}"


class FusedSwiGLU(nn.Module):
    """SwiGLU with one product for the gate and what it gates."""

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        backend: Backend = "auto",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.backend = backend
        self.w13 = StackedProjection(d_model, d_ff, ("w1", "w3"), device=device, dtype=dtype)
        self.w2 = Projection(d_ff, d_model, device=device, dtype=dtype)
        name_parts(self)

    def forward(self, x: Tensor) -> Tensor:
        gated: Tensor = self.w2(silu_gate(self.w13(x), backend=self.backend))
        return gated
