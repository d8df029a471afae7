"""AdamW steps on the GPU: the fused kernel's pieces, and the optimizer against torch's.

python -m benchmarks.h200.operations --what adamw [--tilings]
"""

from __future__ import annotations

import itertools
import statistics
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from benchmarks.h200.common import save, time_cold, time_eager
from benchmarks.h200.operations_tilings import copy_rate, tried
from benchmarks.h200.operations_ways import captured_forward
from stepmark.zoo import AdamW
from stepmark.zoo.kernels import adamw

Row = dict[str, Any]
DTYPES = (
    (torch.float32, torch.float32),
    (torch.bfloat16, torch.float32),
    (torch.bfloat16, torch.bfloat16),
)


def gpt2_shapes() -> list[tuple[int, ...]]:
    """The 148 parameters of GPT-2 small: 124 439 808 entries."""
    block = [(768,), (768,), (2304, 768), (2304,), (768, 768), (768,)]
    block += [(768,), (768,), (3072, 768), (3072,), (768, 3072), (768,)]
    return [(50257, 768), (1024, 768), *(12 * block), (768,), (768,)]


def tiling_rows() -> list[Row]:
    """Pieces, warps and programs, on GPT-2's parameters."""
    return [row for pair in DTYPES for row in _tiling_rows(*pair)]


def _tiling_rows(parameters: torch.dtype, moments: torch.dtype) -> Iterator[Row]:
    shapes = gpt2_shapes()
    entries = [
        adamw.Entry(
            torch.randn(shape, device="cuda").to(parameters),
            torch.randn(shape, device="cuda").to(parameters),
            torch.zeros(shape, device="cuda", dtype=moments),
            torch.zeros(shape, device="cuda", dtype=moments),
            torch.zeros((), device="cuda"),
            0,
        )
        for shape in shapes
    ]
    settings = [adamw.Settings(1e-4, (0.9, 0.999), 1e-8, 0.01)]
    about = {"dtype": f"{parameters} {moments}", "error": None}
    for piece, warps, programs in itertools.product((1024, 2048, 4096), (4, 8), (4 * 132, 8 * 132, 1 << 30)):
        fused = adamw.FusedAdam(torch.device("cuda"), decoupled=True)
        fused.piece, fused.warps, fused.programs = piece, warps, programs
        fused.write(settings)
        launches = fused.prepare(entries, settings)
        yield tried("adamw", (piece, warps, programs), partial(fused.run, launches), **about)


def optimizers(parameters: list[torch.nn.Parameter], *, half: bool) -> dict[str, Callable[[], object]]:
    """Steps by name. torch keeps moments in the parameters' dtype."""
    lr = torch.tensor(1e-4, device="cuda")
    found: dict[str, Callable[[], object]] = {
        "triton": AdamW(parameters, lr=lr, backend="triton").step,
        "torch fused": torch.optim.AdamW(parameters, lr=lr, fused=True, capturable=True).step,
        "torch foreach": torch.optim.AdamW(parameters, lr=lr, foreach=True, capturable=True).step,
    }
    if half:
        found["triton, float32 moments"] = AdamW(
            parameters, lr=lr, state_dtype=torch.float32, backend="triton"
        ).step
    elif len(parameters) == 1:  # a list of 148 takes minutes
        plain = torch.optim.AdamW(parameters, lr=lr, foreach=True, capturable=True)
        found["compiled"] = torch.compile(plain.step)
    return found


def adamw_rows() -> None:
    """GPT-2 small's parameters, and the published one; each row printed and saved."""
    rate = copy_rate()
    rows: list[Row] = []
    lists: dict[str, list[tuple[int, ...]]] = {"gpt2": gpt2_shapes(), "512x512": [(512, 512)]}
    for name, dtype in itertools.product(lists, (torch.float32, torch.bfloat16)):
        sizes = lists[name]
        parameters = [torch.nn.Parameter(torch.randn(size, device="cuda").to(dtype)) for size in sizes]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        entries = sum(parameter.numel() for parameter in parameters)
        for way, step in optimizers(parameters, half=dtype.itemsize == 2).items():
            row: Row = {"parameters": name, "entries": entries, "dtype": str(dtype), "way": way}
            moments = 4 if "float32 moments" in way else dtype.itemsize
            try:
                for _ in range(3):
                    step()
                row["eager"] = statistics.median(time_eager(step, 0.05) for _ in range(3))
                row["cold"] = time_cold(captured_forward(step, 1).replay)
                row["share"] = entries * (3 * dtype.itemsize + 4 * moments) / (row["cold"] / 1e6) / rate
            except Exception as failure:
                row["failed"] = f"{type(failure).__name__}: {str(failure)[:200]}"
                traceback.print_exc(limit=2)
            print(row, flush=True)
            rows.append(row)
            save("operations-adamw", rows, copy_bytes_per_second=rate)
