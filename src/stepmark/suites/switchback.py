"""SwitchBack int8 linears: taken apart operation by operation, and as whole layers in training.

What the published harness did, and what this suite does instead, stands in docs/suites.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.needs import Needs
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Ops, Step
from stepmark.records.case import AxisValue
from stepmark.zoo import (
    SwitchBackLinear,
    int8_linear_global,
    int8_linear_rowwise,
    quantize_columnwise_transpose,
    quantize_global,
    quantize_global_transpose,
    quantize_rowwise,
)

ROWS = [2**power for power in range(10, 18)]
PUBLISHED = (
    "(wm == 4 or (dim == 1408 and wm == 4.3637) or (dim == 1664 and wm == 4.9231))"
    " and not (dim == 8096 and rows == 131072)"
)
"""The nine shapes of the published file, and the rows it lacks."""
AXES: dict[str, list[AxisValue]] = {
    "dim": [1024, 1280, 1408, 1664, 2048, 4096, 8096],
    "wm": [4, 4.3637, 4.9231],
    "rows": [*ROWS],
    "switch": [False, True],
}
PRESETS: dict[str, dict[str, list[AxisValue]]] = {
    "quick": {"dim": [1024], "wm": [4], "rows": [128], "switch": [False]},
    "standard": {"dim": [1024], "wm": [4], "rows": [1024], "switch": [False, True]},
    "full": {"dim": [1024], "wm": [4], "rows": [256, 1024], "switch": [False, True]},
    "published": {"dtype": ["float16"]},
}

suite = Suite(
    "switchback",
    axes=AXES,
    modes=["ops"],
    presets=PRESETS,
    where=PUBLISHED,
    about="The operations of a linear layer's forward and backward: as they are, and through int8.",
)
layers = Suite(
    "switchback_layer",
    axes=AXES,
    presets=PRESETS,
    where=PUBLISHED,
    about="nn.Linear against SwitchBackLinear, forward and backward, rows of dim to dim x wm features.",
)

TOTAL = "layer"
"""The sum that stands for one forward and backward: what the verdict is about."""


def _features(c: Point) -> tuple[int, int]:
    """In and out: `switch` swaps them."""
    wide = round(c.dim * c.wm)
    return (wide, c.dim) if c.switch else (c.dim, wide)


def _needs(c: Point) -> Needs:
    wide, narrow = c.dim * c.wm, c.dim
    size = torch.finfo(c.dtype).bits // 8
    activations = c.rows * (wide + narrow)
    return Needs(memory=size * (4.0 * activations + 4.0 * wide * narrow), flops=6.0 * c.rows * wide * narrow)


@dataclass(frozen=True)
class _Tensors:
    """x (rows, in), g (rows, out), w (out, in)."""

    x: Tensor
    g: Tensor
    w: Tensor

    @property
    def weight_gradient(self) -> Callable[[], Tensor]:
        return lambda: self.g.t() @ self.x


def _tensors(c: Point) -> _Tensors:
    inward, outward = _features(c)
    return _Tensors(
        *(
            torch.randn(*shape, device=c.device, dtype=c.dtype)
            for shape in ((c.rows, inward), (c.rows, outward), (outward, inward))
        )
    )


@suite.variant(baseline=True, needs=_needs)
def standard(c: Point) -> Ops:
    """Three matrix products in the cell's dtype."""
    t = _tensors(c)
    operations = {
        "standard_fwd": lambda: t.x @ t.w.t(),
        "standard_gx": lambda: t.g @ t.w,
        "standard_gw": t.weight_gradient,
    }
    return Ops(operations, totals={TOTAL: [*operations]})


@suite.variant(needs=_needs)
def rowwise(c: Point) -> Ops:
    """Rows of x and g and rows and columns of w quantised; two products in int8."""
    t = _tensors(c)
    x8, x_scale = quantize_rowwise(t.x)
    g8, g_scale = quantize_rowwise(t.g)
    w8, w_scale = quantize_rowwise(t.w)
    w8t, wt_scale = quantize_columnwise_transpose(t.w)
    operations = {
        "x_quantize_rowwise": lambda: quantize_rowwise(t.x),
        "g_quantize_rowwise": lambda: quantize_rowwise(t.g),
        "w_quantize_rowwise": lambda: quantize_rowwise(t.w),
        "w_quantize_colwise_transpose": lambda: quantize_columnwise_transpose(t.w),
        "rowwise_fwd": lambda: int8_linear_rowwise(x8, w8, x_scale, w_scale, dtype=c.dtype),
        "rowwise_bwd": lambda: int8_linear_rowwise(g8, w8t, g_scale, wt_scale, dtype=c.dtype),
        "standard_gw": t.weight_gradient,
    }
    return Ops(operations, totals={TOTAL: [*operations]})


@suite.variant(name="global", needs=_needs)
def global_(c: Point) -> Ops:
    """Rows of x and g and the whole of w quantised; two products in int8."""
    t = _tensors(c)
    x8, x_scale = quantize_rowwise(t.x)
    g8, g_scale = quantize_rowwise(t.g)
    w8, w_scale = quantize_global(t.w)
    w8t, _ = quantize_global_transpose(t.w)
    operations = {
        "x_quantize_rowwise": lambda: quantize_rowwise(t.x),
        "g_quantize_rowwise": lambda: quantize_rowwise(t.g),
        "w_quantize_global": lambda: quantize_global(t.w),
        "w_quantize_global_transpose": lambda: quantize_global_transpose(t.w),
        "global_fwd": lambda: int8_linear_global(x8, w8, x_scale, w_scale, dtype=c.dtype),
        "global_bwd": lambda: int8_linear_global(g8, w8t, g_scale, w_scale, dtype=c.dtype),
        "standard_gw": t.weight_gradient,
    }
    return Ops(operations, totals={TOTAL: [*operations]})


@suite.variant(needs=_needs)
def casts(c: Point) -> Ops:
    """Plain casts to int8: how fast memory alone would let a quantiser be; in no total of the others."""
    t = _tensors(c)
    operations = {f"cast_{name}": _cast(getattr(t, name)) for name in ("x", "g", "w")}
    return Ops(operations, totals={TOTAL: [*operations]})


def _cast(tensor: Tensor) -> Callable[[], Tensor]:
    return lambda: tensor.to(torch.int8)


def _layer(module: nn.Module, c: Point) -> Step:
    inward, _ = _features(c)
    return Step(module, inputs=randn(c.rows, inward, requires_grad=True))


def _place(c: Point) -> dict[str, Any]:
    """A core takes seconds to draw the largest weights."""
    return {"device": c.device, "dtype": c.dtype}


@layers.variant(baseline=True, needs=_needs)
def linear(c: Point) -> Step:
    """nn.Linear."""
    return _layer(nn.Linear(*_features(c), **_place(c)), c)


@layers.variant(needs=_needs)
def vector(c: Point) -> Step:
    """SwitchBack, the weight quantised by rows and columns."""
    return _layer(SwitchBackLinear(*_features(c), quantization="vector", **_place(c)), c)


@layers.variant(name="global", needs=_needs)
def global_layer(c: Point) -> Step:
    """SwitchBack, the weight quantised as a whole."""
    return _layer(SwitchBackLinear(*_features(c), quantization="global", **_place(c)), c)


@layers.variant(needs=_needs)
def memory_efficient(c: Point) -> Step:
    """SwitchBack that keeps int8 copies for the backward pass."""
    layer = SwitchBackLinear(*_features(c), quantization="global", memory_efficient=True, **_place(c))
    return _layer(layer, c)
