"""Whole layers with autograd: nn.Linear, SwitchBackLinear in its variants, and torchao's int8 training."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.h200.common import Call, forget_graphs, side_by_side, time_eager, time_graph
from benchmarks.h200.switchback_peers import torchao_calls
from stepmark.zoo.switchback import SwitchBackLinear

SHAPES = [
    (1024, 1024, 4096),
    (8192, 1024, 4096),
    (8192, 4096, 16384),
    (32768, 2048, 8192),
    (65536, 4096, 16384),
]


def layers(dtype: torch.dtype, *, rounds: int = 5) -> Iterator[dict[str, Any]]:
    """Microseconds of forward and backward, from Python and (ours) as graph replay."""
    for rows, inward, outward in SHAPES:
        x = torch.randn(rows, inward, device="cuda", dtype=dtype, requires_grad=True)
        g = torch.randn(rows, outward, device="cuda", dtype=dtype)
        linear = nn.Linear(inward, outward, bias=False, device="cuda", dtype=dtype)
        own = {
            "nn.Linear": linear,
            "auto": SwitchBackLinear.from_linear(linear),
            "auto any": SwitchBackLinear.from_linear(linear, precision="auto"),
            "triton": SwitchBackLinear.from_linear(linear, backend="triton"),
            "triton kept": SwitchBackLinear.from_linear(linear, backend="triton", keep_codes=True),
            "memory-efficient": SwitchBackLinear.from_linear(linear, "global", True),
            "plain torch": SwitchBackLinear.from_linear(linear, backend="torch"),
        }
        calls: dict[str, Call] = {name: partial(both_passes, layer, x, g) for name, layer in own.items()}
        eager = side_by_side(calls | torchao_calls(x, g, linear.weight.detach()), time_eager, rounds)
        graph = {} if rows > 8192 else side_by_side(calls, time_graph, rounds)
        yield {"shape": (rows, inward, outward), "eager us": eager, "graph us": graph}
        forget_graphs()


def both_passes(layer: nn.Module, x: Tensor, g: Tensor) -> None:
    """Gradients are made anew and not added up."""
    x.grad = None
    for parameter in layer.parameters():
        parameter.grad = None
    layer(x).backward(g)
