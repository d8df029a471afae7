"""The fragmented linear layer word for word: every fragment's product is written out, then mixed or chosen.

Shapes
------
...  leading dimensions      n  input features         F  fragments, s = n / F features each
o    output features         c  compressed features
x (..., n) · selector S (F, s) · weight W (F, s, o) · compressor A (n, c) · decompressor D (o, c) · bias (o)

Formula
-------
scores   t_f = <x_f, S_f>,  x_f the features of fragment f
soft     p = softmax(t);  y = sum_f p_f (x_f W_f) + ((x (1 - p~)) A) D^T,  p~ = every p_f repeated s times
hard     j = the first f with the largest t_f;  y = x_j W_j + ((x with fragment j set to nought) A) D^T

Source: Snowyiu/fragmented_linear, version 4 of the layer (December 2024), whose harness made the published
table. Written for reading, not for speed: soft holds a (..., F, o) intermediate, hard a copy of the chosen
weights for every row.
"""

from __future__ import annotations

import torch
from torch import Tensor


def fragment_scores(x: Tensor, selector: Tensor) -> Tensor:
    """One score for every fragment: (..., F)."""
    return (torch.unflatten(x, -1, selector.shape) * selector).sum(-1)


def soft_reference(
    x: Tensor,
    selector: Tensor,
    weight: Tensor,
    compressor: Tensor,
    decompressor: Tensor,
    *,
    bias: Tensor | None = None,
) -> Tensor:
    """Every fragment's product, weighted; what the weights leave out goes the narrow way."""
    fragments = torch.unflatten(x, -1, selector.shape)
    probability = torch.softmax(fragment_scores(x, selector), dim=-1)
    products = torch.einsum("...fs,fso->...fo", fragments, weight)
    expert = (probability.unsqueeze(-1) * products).sum(-2)
    rest = (fragments * (1.0 - probability.unsqueeze(-1))).flatten(-2)
    return _with_bias(expert + (rest @ compressor) @ decompressor.T, bias)


def hard_reference(
    x: Tensor,
    selector: Tensor,
    weight: Tensor,
    compressor: Tensor,
    decompressor: Tensor,
    *,
    bias: Tensor | None = None,
) -> Tensor:
    """The best fragment's product; all other features go the narrow way. No gradient for the selector."""
    fragments = torch.unflatten(x, -1, selector.shape)
    chosen = fragment_scores(x.detach(), selector.detach()).argmax(-1)
    is_chosen = torch.nn.functional.one_hot(chosen, selector.shape[0]).bool().unsqueeze(-1)
    rest = fragments.masked_fill(is_chosen, 0.0).flatten(-2)
    own = (fragments * is_chosen).sum(-2)
    expert = torch.einsum("...s,...so->...o", own, weight[chosen])
    return _with_bias(expert + (rest @ compressor) @ decompressor.T, bias)


def _with_bias(y: Tensor, bias: Tensor | None) -> Tensor:
    return y if bias is None else y + bias
