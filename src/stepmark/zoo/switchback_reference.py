"""SwitchBack word for word: codes are whole numbers in float64, every product is an ordinary float product.

Shapes
------
x (b, n) · w (o, n) · bias (o) · g (b, o), the gradient of the output · s with an index: scales

Formula
-------
q(x, s) = rint(x * (127 / s)) in float32 at least, nought where s is nought
forward        y  = s_x s_w / 127^2 (q(x, s_x) q(w, s_w)^T) + bias        s_x per row
               s_w: "vector" per row of w (output feature), "global" one for all of w
input gradient dx = s_g s_w / 127^2 (q(g, s_g) q(w, s_w))                 s_g per row
               s_w: "vector" per column of w (input feature), "global" one for all of w
weight gradient dw = g^T x, not quantised; memory-efficient: g^T x~ with x~ = s_x q(x, s_x) / 127
bias gradient  db = the sum of g's rows

Source: Wortsman et al., "Stable and low-precision training for large-scale vision-language models",
arXiv 2304.13013 ("global"; "vector" is its SwitchBackQ), and bitsandbytes' kernels of March 2023.

Error against the layer without quantisation
--------------------------------------------
A code is at most half a step from its value: |x - x~| <= s_x / 254. Therefore
|y - x w^T| <= s_x / 254 |w|_1 + s_w / 254 |x|_1 + n s_x s_w / 254^2,  |.|_1 summed over the n features,
and the same with g and w over the o features for dx.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Gradients(NamedTuple):
    """What a backward pass gives, in float64."""

    x: Tensor
    weight: Tensor
    bias: Tensor


def forward_reference(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, quantization: str = "vector"
) -> Tensor:
    """The output in float64."""
    x_scale, w_scale = _largest(x, 1), _largest(weight, 1 if quantization == "vector" else None)
    y = _quantized_product(x, weight.T, x_scale, w_scale.T)
    return y if bias is None else y + bias.double()


def backward_reference(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    *,
    quantization: str = "vector",
    memory_efficient: bool = False,
) -> Gradients:
    """The gradients in float64, for the gradient of the output."""
    w_scale = _largest(weight, 0 if quantization == "vector" else None)
    x_scale = _largest(x, 1)
    kept = _codes(x, x_scale) * x_scale.double() / 127.0 if memory_efficient else x.double()
    return Gradients(
        x=_quantized_product(grad, weight, _largest(grad, 1), w_scale),
        weight=grad.double().T @ kept,
        bias=grad.double().sum(0),
    )


def error_bound(left: Tensor, right: Tensor, left_scale: Tensor, right_scale: Tensor) -> Tensor:
    """Largest distance between the quantised and the plain product of left (b, k) and right (k, c), for each
    element, with scales (b, 1) and (1, c) or (1, 1)."""
    left_step, right_step = left_scale.double() / 254.0, right_scale.double() / 254.0
    left_sum = left.double().abs().sum(1, keepdim=True)
    right_sum = right.double().abs().sum(0, keepdim=True)
    return left_step * right_sum + right_step * left_sum + left.shape[1] * left_step * right_step


def _quantized_product(left: Tensor, right: Tensor, left_scale: Tensor, right_scale: Tensor) -> Tensor:
    sums = _codes(left, left_scale) @ _codes(right, right_scale)
    return left_scale.double() * right_scale.double() / 127.0**2 * sums


def _codes(x: Tensor, scale: Tensor) -> Tensor:
    """Whole numbers from -127 to 127."""
    wide = x.to(scale.dtype)
    codes = torch.round(wide * (127.0 / scale))
    return torch.where(scale == 0.0, 0.0, codes).double()


def _largest(x: Tensor, dim: int | None) -> Tensor:
    """Absolute maxima with their dimension kept, in float32 at least."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32)).abs()
    return wide.amax().reshape(1, 1) if dim is None else wide.amax(dim, keepdim=True)
