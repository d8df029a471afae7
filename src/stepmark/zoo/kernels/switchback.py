"""SwitchBack's passes by kernels.

Shapes
------
x (b, n) · weight (o, n) · bias (o) · grad (b, o)

A forward and backward pass quantises x, the weight (both ways round from the same values) and the gradient,
and computes two products in 8 bits and the weight gradient in the input's own precision. Where that takes
longer than three plain products, a layer computes plain ones (switchback_choice.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.fp8 import has_fp8
from stepmark.zoo.kernels.product import product
from stepmark.zoo.kernels.quantize import (
    WeightCodes,
    dequantize_rows,
    quantize_rows,
    quantize_turned,
    quantize_weight,
    quantize_whole,
)

Precision = Literal["int8", "fp8", "auto"]
CODES: Final = {"int8": torch.int8, "fp8": torch.float8_e4m3fn}
PLAIN: Final = "16-bit"
"""The name of plain products beside these."""


class Way(NamedTuple):
    """How a layer computes."""

    code: str
    """A key of CODES."""
    one_scale: bool
    """For the whole weight; else one for every row and, in the backward pass, every column."""
    memory_efficient: bool
    """Keep codes of x for the backward pass."""
    measured: bool
    """Products by whichever way is the fastest, and not by the kernel's default."""


class Layer(NamedTuple):
    """A layer's settings, from which ways follow."""

    precision: Precision
    one_scale: bool
    memory_efficient: bool
    measured: bool

    def in_a_word(self) -> str:
        """For operators, whose arguments are plain."""
        return ",".join(str(int(one)) if isinstance(one, bool) else one for one in self)

    @classmethod
    def from_word(cls, word: str) -> Layer:
        precision, *flags = word.split(",")
        return cls(precision, *(flag == "1" for flag in flags))  # type: ignore[arg-type]

    @property
    def first_code(self) -> str:
        """The one that a layer uses that does not choose."""
        return "int8" if self.precision == "auto" else self.precision


class Needs(NamedTuple):
    """Which gradients are asked for."""

    x: bool
    weight: bool
    bias: bool


class Kept(NamedTuple):
    """What the forward pass leaves to the backward pass."""

    x: Tensor | None
    x_scale: Tensor | None
    """With codes of x."""
    turned: Tensor | None
    turned_scale: Tensor | None


CodesOf = Callable[[Way], WeightCodes]
"""The weight's codes, from where they are kept."""


def forward(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    way: Way,
    *,
    needs: Needs,
    codes_of: CodesOf | None = None,
) -> tuple[Tensor, Kept]:
    """y (b, o)."""
    x8, x_scale = quantize_rows(x, code=CODES[way.code])
    codes = codes_of(way) if codes_of else weight_codes(weight, way, turned=needs.x)
    y = product(x8, codes.codes, x_scale, codes.scale, bias=bias, dtype=x.dtype, measured=way.measured)
    kept_x = (x8, x_scale) if way.memory_efficient else (x, None)
    return y, Kept(
        *(kept_x if needs.weight else (None, None)),
        *((codes.turned, codes.turned_scale) if needs.x else (None, None)),
    )


def backward(grad: Tensor, kept: Kept, way: Way, *, needs: Needs) -> tuple[Tensor | None, ...]:
    """Gradients of x, weight and bias; None where nobody asks."""
    grad_x = input_gradient(grad, kept.turned, kept.turned_scale, way) if needs.x else None
    grad_weight = None
    if needs.weight:
        assert kept.x is not None
        x = kept.x if kept.x_scale is None else dequantize_rows(kept.x, kept.x_scale, grad.dtype)
        grad_weight = grad.t() @ x
    return grad_x, grad_weight, grad.sum(0) if needs.bias else None


def input_gradient(grad: Tensor, turned: Tensor | None, scale: Tensor | None, way: Way) -> Tensor:
    """The gradient of x from codes of the weight turned (n, o)."""
    assert turned is not None
    assert scale is not None
    g8, g_scale = quantize_rows(grad, code=CODES[way.code])
    return product(g8, turned, g_scale, scale, dtype=grad.dtype, measured=way.measured)


def weight_codes(weight: Tensor, way: Way, *, turned: bool = True) -> WeightCodes:
    """Codes of a weight both ways round, or only as it lies."""
    if turned:
        return quantize_weight(weight, one_scale=way.one_scale, code=CODES[way.code])
    quantize = quantize_whole if way.one_scale else quantize_rows
    codes, scale = quantize(weight, code=CODES[way.code])
    return WeightCodes(codes, scale, codes, scale)


def turned_codes(weight: Tensor, way: Way) -> tuple[Tensor, Tensor]:
    """Codes (n, o) of a weight (o, n) and their scale."""
    return quantize_turned(weight, one_scale=way.one_scale, code=CODES[way.code])


def possible_ways(layer: Layer, x: Tensor) -> dict[str, Way]:
    """The ways that a layer's precision stands for on the tensor's device, by code."""
    if layer.precision == "fp8" and not has_fp8(x.device):
        raise ValueError(f"precision='fp8' needs compute capability 8.9, which {x.device} has not")
    names = [*CODES] if layer.precision == "auto" else [layer.precision]
    return {name: Way(name, *layer[1:]) for name in names if name != "fp8" or has_fp8(x.device)}
