"""Bandwidth of the quantisers, as a part of what a copy reaches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from benchmarks.h200.common import Call, forget_graphs, side_by_side, time_cold, time_graph
from stepmark.zoo.kernels.quantize import (
    dequantize_rows,
    matrix_codes,
    matrix_tops,
    pitched,
    quantize_rows,
    quantize_turned,
    quantize_weight,
)

MATRICES = [
    (131072, 8192),
    (65536, 16384),
    (65536, 4096),
    (65536, 1664),
    (8192, 1024),
    (1024, 1024),
    (16384, 32384),
]
WEIGHTS = [(16384, 4096), (4096, 16384), (32384, 8096), (6656, 1664), (4096, 1024)]
TILES = [(64, 128), (128, 128), (32, 256), (32, 512)]


def copy_bandwidth() -> float:
    """Bytes read and written in a second by a kernel over 512 MiB, in 10^12. Not by `copy_`, which is the
    driver's own copy: 2.7 on an H200."""
    x = torch.empty(1 << 28, dtype=torch.float16, device="cuda").normal_()
    y = torch.empty_like(x)
    return 4e-6 * x.numel() / time_graph(lambda: torch.neg(x, out=y), 0.05)


def bandwidths(*, rounds: int = 3) -> Iterator[dict[str, Any]]:
    """10^12 bytes in a second; a weight's bytes are 2 + 2 read and 1 + 1 written for each element."""
    copied = copy_bandwidth()
    yield {"what": "copy", "TB/s": round(copied, 3)}
    for m, k in MATRICES:
        x = torch.randn(m, k, device="cuda", dtype=torch.float16)
        codes, scale = quantize_rows(x)
        calls: dict[str, tuple[Call, float]] = {
            "rows": (partial(quantize_rows, x), 3.0),
            "rows fp8": (partial(quantize_rows, x, code=torch.float8_e4m3fn), 3.0),
            "back": (partial(dequantize_rows, codes, scale, torch.float16), 3.0),
        }
        yield from _rows((m, k), calls, copied, rounds)
    for o, n in WEIGHTS:
        w = torch.randn(o, n, device="cuda", dtype=torch.float16)
        calls = {
            "weight vector": (partial(quantize_weight, w, one_scale=False), 6.0),
            "weight global": (partial(quantize_weight, w, one_scale=True), 6.0),
            "weight turned": (partial(quantize_turned, w, one_scale=False), 5.0),
            "weight rows": (partial(quantize_rows, w), 3.0),
        }
        for tile in TILES:
            calls |= _by_tile(w, tile)
        yield from _rows((o, n), calls, copied, rounds)


def _by_tile(w: torch.Tensor, tile: tuple[int, int]) -> dict[str, tuple[Call, float]]:
    tops = matrix_tops(w, by_row=True, by_column=True)
    (o, n), code = w.shape, torch.int8
    codes, turned = pitched(o, n, code=code, device=w.device), pitched(n, o, code=code, device=w.device)
    return {
        f"maxima {tile}": (lambda: matrix_tops(w, by_row=True, by_column=True, tile=tile), 2.0),
        f"codes {tile}": (
            lambda: matrix_codes(w, tops, codes=codes, turned=turned, one_scale=False, tile=tile),
            4.0,
        ),
    }


def _rows(
    shape: tuple[int, int], calls: dict[str, tuple[Call, float]], copied: float, rounds: int
) -> Iterator[dict[str, Any]]:
    only = {name: call for name, (call, _) in calls.items()}
    cold, warm = (side_by_side(only, timer, rounds) for timer in (time_cold, time_graph))
    for name, (_, bytes_each) in calls.items():
        us = cold[name]
        rate = us and 1e-6 * bytes_each * shape[0] * shape[1] / us
        yield {
            "what": name,
            "shape": shape,
            "cold us": us,
            "graph us": warm[name],
            "cold TB/s": rate and round(rate, 3),
            "of copy": rate and round(rate / copied, 3),
        }
    forget_graphs()
