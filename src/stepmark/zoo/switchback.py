"""SwitchBackLinear: forward and input gradient in int8, the weight gradient in the layer's own precision.

Shapes
------
b  rows (all leading dimensions)     n  input features     o  output features
x (b, n) · weight W (o, n) · bias (o) · g (b, o), the gradient of the output · codes with an 8: int8

Formula (the definition stands in switchback_reference.py)
----------------------------------------------------------
y  = scales (x8 W8^T) + bias      x by rows; W by rows ("vector") or as a whole ("global")
dx = scales (g8 W8)               g by rows; W by columns ("vector") or as a whole ("global")
dW = g^T x in the input's dtype   its sums run over b, where int8 noise costs accuracy most (arXiv 2304.13013)
db = the sum of g's rows

| saved for backward      | x                   | W                        |
|-------------------------|---------------------|--------------------------|
| vector, global          | x                   | W, quantised again       |
| global, memory-efficient| x8 and a scale a row| W8 and one scale         |

Memory-efficient needs "global": by columns W has other codes than by rows, so W8 could not serve both ways.
Rounding is not differentiable, so the gradients are those of the layer without quantisation, nearly; finite
differences do not apply. The bound on the error is `error_bound` in the reference.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from stepmark.zoo.int8 import int8_linear_global, int8_linear_rowwise
from stepmark.zoo.quantize import dequantize_rowwise, quantize_columnwise, quantize_global, quantize_rowwise

Quantization = Literal["vector", "global"]

TOLERANCES = {torch.float64: 1e-13, torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.2e-2}
"""Largest difference of the output and of every gradient from the definition in float64, as a part of its
largest magnitude: the rounding of the output, and of the products that are not int8."""


class SwitchBackLinear(nn.Linear):
    """A drop-in for nn.Linear, with the same parameters and the same state."""

    weight_codes: Tensor | None
    weight_scale: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        quantization: Quantization = "vector",
        memory_efficient: bool = False,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if quantization not in ("vector", "global"):
            raise ValueError(f"expected quantization 'vector' or 'global', got {quantization!r}")
        if memory_efficient and quantization == "vector":
            raise ValueError("expected quantization 'global' with memory_efficient, got 'vector'")
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self.quantization = quantization
        self.memory_efficient = memory_efficient
        self.register_buffer("weight_codes", None, persistent=False)
        self.register_buffer("weight_scale", None, persistent=False)

    @classmethod
    def from_linear(
        cls, linear: nn.Linear, quantization: Quantization = "vector", memory_efficient: bool = False
    ) -> Self:
        """The same layer in int8; it shares the parameters."""
        layer = cls(
            linear.in_features,
            linear.out_features,
            linear.bias is not None,
            quantization,
            memory_efficient,
            device="meta",
        )
        layer.weight, layer.bias = linear.weight, linear.bias
        return layer.train(linear.training)

    def to_linear(self) -> nn.Linear:
        """The same layer without quantisation; it shares the parameters."""
        linear = nn.Linear(self.in_features, self.out_features, self.bias is not None, device="meta")
        linear.weight, linear.bias = self.weight, self.bias
        return linear.train(self.training)

    def prepare_for_eval(self) -> Self:
        """Switch to evaluation and keep the weight's codes; `train()` drops them. Who changes the weight in
        evaluation mode prepares again."""
        self.eval()
        quantize = quantize_rowwise if self.quantization == "vector" else quantize_global
        self.weight_codes, self.weight_scale = quantize(self.weight)
        return self

    def train(self, mode: bool = True) -> Self:
        if mode:
            self.weight_codes = self.weight_scale = None
        return super().train(mode)

    def forward(self, x: Tensor) -> Tensor:
        """(..., n) to (..., o)."""
        weight: Tensor = self.weight
        bias: Tensor | None = self.bias
        kind = x.device.type
        if torch.is_autocast_enabled(kind):
            narrow = torch.get_autocast_dtype(kind)
            x, weight = x.to(narrow), weight.to(narrow)
            bias = None if bias is None else bias.to(narrow)
        _check_input(x, weight)
        y: Tensor = _SwitchBack.apply(  # type: ignore[no-untyped-call]
            x.reshape(-1, self.in_features),
            weight,
            bias,
            _Way(self.quantization, self.memory_efficient, self.weight_codes, self.weight_scale),
        )
        return y.view(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        return (
            f"{super().extra_repr()}, quantization={self.quantization!r}, "
            f"memory_efficient={self.memory_efficient}"
        )

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.weight_codes is not None:
            self.prepare_for_eval()  # a cast has rounded the scales
        return self

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        if self.weight_codes is not None:
            self.prepare_for_eval()


NOTHING = (None, None)

SLOW_ON_THIS_CPU = (torch.float16, *(() if torch.cpu._is_avx512_bf16_supported() else (torch.bfloat16,)))
"""Products that float32 does sooner, casts included, with the same sums and one rounding (512 x 768 by
768 x 3072 on one core of an Ice Lake Xeon: float32 36 ms, bfloat16 174, float16 344)."""


class _Way(NamedTuple):
    quantization: Quantization
    memory_efficient: bool
    codes: Tensor | None
    """Of the weight, where they are kept."""
    scale: Tensor | None


class _SwitchBack(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        way: _Way,
    ) -> Tensor:
        quantization, memory_efficient, codes, scale = way
        ctx.quantization, ctx.memory_efficient = quantization, memory_efficient
        x8, x_scale = quantize_rowwise(x)
        if codes is None or scale is None:
            codes, scale = quantize_rowwise(weight) if quantization == "vector" else quantize_global(weight)
        for_x, for_weight = ctx.needs_input_grad[:2]
        kept_x = (x8, x_scale) if memory_efficient else (x, None)
        kept_weight = (codes, scale) if memory_efficient else (weight, None)
        ctx.save_for_backward(*(kept_x if for_weight else NOTHING), *(kept_weight if for_x else NOTHING))
        product = int8_linear_rowwise if quantization == "vector" else int8_linear_global
        return product(x8, codes, x_scale, scale, bias=bias, dtype=x.dtype)

    @staticmethod
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
    g8, g_scale = quantize_rowwise(grad)
    _, _, weight, scale = ctx.saved_tensors
    if ctx.quantization == "vector":
        codes, scale = quantize_columnwise(weight)
        return int8_linear_rowwise(g8, _turned(codes), g_scale, scale, dtype=grad.dtype)
    codes, scale = (weight, scale) if ctx.memory_efficient else quantize_global(weight)
    return int8_linear_global(g8, _turned(codes), g_scale, scale, dtype=grad.dtype)


def _turned(codes: Tensor) -> Tensor:
    """Codes (o, n) as (n, o): copied for CUDA, whose int8 products want the summed dimension contiguous."""
    return codes.t().contiguous() if codes.is_cuda else codes.t()


def weight_gradient(grad: Tensor, x: Tensor) -> Tensor:
    """g^T x: (b, o) and (b, n) to (o, n)."""
    if grad.device.type == "cpu" and grad.dtype in SLOW_ON_THIS_CPU:
        return (grad.t().float() @ x.float()).to(grad.dtype)
    return grad.t() @ x


def _check_input(x: Tensor, weight: Tensor) -> None:
    if x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise ValueError(f"expected an input of shape (..., {weight.shape[1]}), got {tuple(x.shape)}")
    if x.dtype is not weight.dtype:
        raise ValueError(f"expected an input of dtype {weight.dtype}, the layer's own, got {x.dtype}")
