"""SwitchBack's passes step by step, by the zoo's own operations: what a layer computes without kernels.

Formulas and what is saved for the backward pass stand in switchback.py.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from stepmark.zoo.int8 import int8_linear_global, int8_linear_rowwise
from stepmark.zoo.kernels.backend import Backend
from stepmark.zoo.kernels.undisturbed import without_autocast
from stepmark.zoo.quantize import dequantize_rowwise, quantize_columnwise, quantize_global, quantize_rowwise

Quantization = Literal["vector", "global"]

NOTHING = (None, None)

SLOW_ON_THIS_CPU = (torch.float16, *(() if torch.cpu._is_avx512_bf16_supported() else (torch.bfloat16,)))
"""Products that float32 does sooner, casts included, with the same sums and one rounding (512 x 768 by
768 x 3072 on one core of an Ice Lake Xeon: float32 36 ms, bfloat16 174, float16 344)."""


class StepsWay(NamedTuple):
    quantization: Quantization
    memory_efficient: bool
    codes: Tensor | None
    """Of the weight, where they are kept."""
    scale: Tensor | None
    backend: Backend
    """Of each operation."""


class SwitchBackSteps(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        way: StepsWay,
    ) -> Tensor:
        quantization, memory_efficient, codes, scale, backend = way
        ctx.quantization, ctx.memory_efficient, ctx.backend = quantization, memory_efficient, backend
        x8, x_scale = quantize_rowwise(x, backend=backend)
        if codes is None or scale is None:
            quantize = quantize_rowwise if quantization == "vector" else quantize_global
            codes, scale = quantize(weight, backend=backend)
        for_x, for_weight = ctx.needs_input_grad[:2]
        kept_x = (x8, x_scale) if memory_efficient else (x, None)
        kept_weight = (codes, scale) if memory_efficient else (weight, None)
        ctx.save_for_backward(*(kept_x if for_weight else NOTHING), *(kept_weight if for_x else NOTHING))
        product = int8_linear_rowwise if quantization == "vector" else int8_linear_global
        return product(x8, codes, x_scale, scale, bias=bias, dtype=x.dtype, backend=backend)

    @staticmethod
    @without_autocast
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        for_x, for_weight, for_bias = ctx.needs_input_grad[:3]
        grad_x = _input_gradient(ctx, grad) if for_x else None
        grad_weight = weight_gradient(grad, _kept_input(ctx, grad.dtype)) if for_weight else None
        return grad_x, grad_weight, grad.sum(0) if for_bias else None, None


def _kept_input(ctx: Any, dtype: torch.dtype) -> Tensor:
    x, x_scale, _, _ = ctx.saved_tensors
    return dequantize_rowwise(x, x_scale, dtype) if ctx.memory_efficient else x


def _input_gradient(ctx: Any, grad: Tensor) -> Tensor:
    own: dict[str, Any] = {"backend": ctx.backend}
    g8, g_scale = quantize_rowwise(grad, **own)
    _, _, weight, scale = ctx.saved_tensors
    if ctx.quantization == "vector":
        codes, scale = quantize_columnwise(weight)
        return int8_linear_rowwise(g8, _turned(codes), g_scale, scale, dtype=grad.dtype, **own)
    codes, scale = (weight, scale) if ctx.memory_efficient else quantize_global(weight, **own)
    return int8_linear_global(g8, _turned(codes), g_scale, scale, dtype=grad.dtype, **own)


def _turned(codes: Tensor) -> Tensor:
    """Codes (o, n) as (n, o): copied for CUDA, whose int8 products want the summed dimension contiguous."""
    return codes.t().contiguous() if codes.is_cuda else codes.t()


def weight_gradient(grad: Tensor, x: Tensor) -> Tensor:
    """g^T x: (b, o) and (b, n) to (o, n)."""
    if grad.device.type == "cpu" and grad.dtype in SLOW_ON_THIS_CPU:
        return (grad.t().float() @ x.float()).to(grad.dtype)
    return grad.t() @ x
