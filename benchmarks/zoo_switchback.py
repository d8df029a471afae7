"""SwitchBackLinear against nn.Linear in float32 on a CPU: forward and backward, and where the time goes.

Side by side in one process: python -m benchmarks.zoo_switchback
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.interleaved import interleave, ratio
from benchmarks.machine import machine_line
from stepmark.zoo.int8 import HAS_VNNI, int8_linear_rowwise, int8_product
from stepmark.zoo.quantize import quantize_columnwise, quantize_global, quantize_rowwise
from stepmark.zoo.switchback import SwitchBackLinear
from stepmark.zoo.switchback_steps import weight_gradient

SHAPES = ((512, 768, 3072), (512, 3072, 768), (1024, 1024, 4096), (1024, 4096, 1024), (2048, 2048, 2048))
"""Rows, input features, output features."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each table's row")
    parser.add_argument("--threads", type=int, default=1, help="more need cores without neighbours")
    parser.add_argument("--dtype", default="float32")
    told = parser.parse_args()
    torch.set_num_threads(told.threads)
    dtype = getattr(torch, told.dtype)
    print(machine_line(), f"· {told.threads} thread(s) · VNNI {'yes' if HAS_VNNI else 'no'} · {told.dtype}")
    print("\nForward and backward; ratios are nn.Linear / SwitchBack, above 1 is faster.\n")
    print("| rows, in, out | Linear ms | vector | global | global, memory-efficient |\n|---|---|---|---|---|")
    for shape in SHAPES:
        print(_layers(*shape, dtype, told.seconds), flush=True)
    print("\nParts, ms.\n")
    for shape in SHAPES:
        print(_parts(*shape, dtype, told.seconds), flush=True)


def _layers(rows: int, n: int, o: int, dtype: torch.dtype, seconds: float) -> str:
    torch.manual_seed(0)
    linear = nn.Linear(n, o, dtype=dtype)
    x, grad = torch.randn(rows, n, dtype=dtype), torch.randn(rows, o, dtype=dtype)
    layers = {
        "linear": linear,
        "vector": SwitchBackLinear.from_linear(linear),
        "global": SwitchBackLinear.from_linear(linear, "global"),
        "memory-efficient": SwitchBackLinear.from_linear(linear, "global", memory_efficient=True),
    }
    times = interleave({name: _step(layer, x, grad) for name, layer in layers.items()}, seconds=seconds)
    ratios = [str(ratio(times["linear"], times[name])) for name in list(layers)[1:]]
    return f"| {rows}, {n}, {o} | {1e3 * np.median(times['linear']):.2f} | {' | '.join(ratios)} |"


def _step(layer: nn.Module, x: Tensor, grad: Tensor) -> Callable[[], object]:
    x = x.clone().requires_grad_()

    def step() -> None:
        x.grad = None
        layer.zero_grad()
        layer(x).backward(grad)

    return step


def _parts(rows: int, n: int, o: int, dtype: torch.dtype, seconds: float) -> str:
    """The operations of a vector step one by one, and the products they replace."""
    torch.manual_seed(0)
    x, grad, w = (torch.randn(shape, dtype=dtype) for shape in ((rows, n), (rows, o), (o, n)))
    x8, x_scale = quantize_rowwise(x)
    w8, w_scale = quantize_rowwise(w)
    g8, g_scale = quantize_rowwise(grad)
    t8, t_scale = quantize_columnwise(w)
    calls: dict[str, Callable[[], object]] = {
        "x w^T": lambda: x @ w.t(),
        "g w": lambda: grad @ w,
        "g^T x": lambda: weight_gradient(grad, x),
        "x by rows": lambda: quantize_rowwise(x),
        "g by rows": lambda: quantize_rowwise(grad),
        "w by rows": lambda: quantize_rowwise(w),
        "w by columns": lambda: quantize_columnwise(w),
        "w as a whole": lambda: quantize_global(w),
        "sums of x8 w8^T": lambda: int8_product(x8, w8),
        "sums of g8 w8": lambda: int8_product(g8, t8.t()),
        "x8 w8^T scaled": lambda: int8_linear_rowwise(x8, w8, x_scale, w_scale, dtype=dtype),
        "g8 w8 scaled": lambda: int8_linear_rowwise(g8, t8.t(), g_scale, t_scale, dtype=dtype),
    }
    times = interleave(calls, seconds=seconds)
    parts = ", ".join(f"{name} {1e3 * np.median(each):.2f}" for name, each in times.items())
    return f"{rows}, {n}, {o}: {parts}"


if __name__ == "__main__":
    main()
