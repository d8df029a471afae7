"""Causal attention: every position looks at itself and what came before it.

T sequence, D features of a head, ... any leading dimensions (batch, heads)

  S = Q K^T / sqrt(D)            (..., T, T), -inf above the diagonal
  Y = softmax(S) V               (..., T, D)

`naive_attention` is the reference: it writes S and softmax(S) to memory, T^2 elements a head each, and
computes the masked half as well. `sdpa_attention` leaves both to torch's fused kernels, which need T D
(FlashAttention, Dao et al., arXiv 2205.14135).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from stepmark.zoo.sizes import Attention

TOLERANCES = {torch.float64: 1e-12, torch.float32: 5e-6, torch.bfloat16: 2e-2, torch.float16: 3e-3}
"""Largest error of output and gradients against `naive_attention` in float64, relative to
the largest entry."""


def naive_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The formula, one line each."""
    _check(query, key, value)
    length, features = query.shape[-2:]
    scores = query @ key.transpose(-2, -1) * features**-0.5
    seen = torch.ones(length, length, dtype=torch.bool, device=query.device).tril()
    weights: Tensor = scores.masked_fill(~seen, -inf).softmax(dim=-1)
    return weights @ value


def sdpa_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Fused, where torch has a kernel for the device and type."""
    _check(query, key, value)
    return scaled_dot_product_attention(query, key, value, is_causal=True)


ATTENTIONS: dict[Attention, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "sdpa": sdpa_attention,
    "naive": naive_attention,
}


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
    shapes = [tuple(one.shape) for one in (query, key, value)]
    if query.dim() < 2 or shapes[0] != shapes[1] or shapes[0] != shapes[2]:
        raise ValueError(
            "expected query, key and value of one shape (..., sequence, features), "
            f"got {shapes[0]}, {shapes[1]} and {shapes[2]}"
        )
    dtypes = [one.dtype for one in (query, key, value)]
    if not query.is_floating_point() or len(set(dtypes)) > 1:
        raise ValueError(
            "expected query, key and value of one floating-point dtype, "
            f"got {dtypes[0]}, {dtypes[1]} and {dtypes[2]}"
        )
