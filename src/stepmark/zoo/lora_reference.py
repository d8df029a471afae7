"""LoRA, literally: the layer and its gradients as the formulas say them.

Shapes    T tokens (all leading dimensions together) · I in_features · O out_features · R rank
          x (..., I)   W (O, I)   c (O)   A (I, R)   B (R, O)   y (..., O)   g = dL/dy (..., O)
Forward   y = x W^T + c + s (x A) B                        s = alpha / R
Backward  dx = g W + s (g B^T) A^T      dA = s x^T (g B^T)      dB = s (x A)^T g
          W and the bias c are frozen and have none.
Source    Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", arXiv 2106.09685, section 4.1. The
          paper writes column vectors, h = W x + B A x: its A and B are the transposes of these. The layout
          here, A (in, rank) and B (rank, out), is that of the published benchmark.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class LoRAGradients(NamedTuple):
    """What a backward pass owes its inputs."""

    x: Tensor
    a: Tensor
    b: Tensor


def lora_adapter_reference(x: Tensor, a: Tensor, b: Tensor, *, scale: float) -> Tensor:
    """The adapter alone, as the published benchmark has it: no base weight at all."""
    return scale * ((x @ a) @ b)


def lora_linear_reference(
    x: Tensor, weight: Tensor, bias: Tensor | None, a: Tensor, b: Tensor, *, scale: float
) -> Tensor:
    """The frozen base and the adapter."""
    base = x @ weight.T
    if bias is not None:
        base = base + bias
    return base + lora_adapter_reference(x, a, b, scale=scale)


def lora_gradients_reference(
    g: Tensor, x: Tensor, weight: Tensor | None, a: Tensor, b: Tensor, *, scale: float
) -> LoRAGradients:
    """By the formulas above, without autograd; no weight means the adapter alone."""
    g_rows, x_rows = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
    g_hidden = scale * (g_rows @ b.T)
    dx = g_hidden @ a.T
    if weight is not None:
        dx = dx + g_rows @ weight
    return LoRAGradients(x=dx.reshape(x.shape), a=x_rows.T @ g_hidden, b=scale * (x_rows @ a).T @ g_rows)
