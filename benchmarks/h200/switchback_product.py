"""Rates of the 8-bit product: every tile worth trying, at several shapes, beside torch's own products."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor

from benchmarks.h200.common import (
    CALLS_IN_A_GRAPH,
    Call,
    Timer,
    forget_graphs,
    side_by_side,
    time_graph,
)
from stepmark.zoo.kernels.int8 import PAIRED, Tile, kernel, scaled_product
from stepmark.zoo.kernels.int8 import TILES as CHOSEN_FROM
from stepmark.zoo.kernels.quantize import quantize_rows

SHAPES = [
    (8192, 8192, 8192),
    (65536, 16384, 4096),
    (65536, 4096, 16384),
    (32768, 2048, 8192),
    (32768, 8192, 2048),
    (65536, 1024, 4096),
    (8192, 1664, 6656),
    (8192, 4096, 1024),
    (1024, 1024, 4096),
]
"""m, k, n."""

ONCE = PAIRED._replace(flat=False)
TILES = [
    PAIRED,
    PAIRED._replace(group=4),
    PAIRED._replace(group=16),
    PAIRED._replace(group=32),
    PAIRED._replace(by_pointer=True),
    PAIRED._replace(early=True),
    PAIRED._replace(stages=2, parts=1),
    ONCE,
    ONCE._replace(group=16),
    ONCE._replace(early=True),
    ONCE._replace(by_pointer=True),
    ONCE._replace(by_pointer=True, parts=1),
    ONCE._replace(by_pointer=True, parts=1, early=True),
    Tile(128, 256, 128, parts=1),
    Tile(128, 256, 128),
    Tile(256, 128, 128),
]


def compile_tiles(part: int, parts: int, *, for_layers: torch.dtype | None = None) -> None:
    """Compile tiles into Triton's cache: those tried here, or those that layers of a dtype choose from."""
    bytes_, scale = torch.zeros(512, 512, dtype=torch.int8, device="cuda"), torch.ones(512, device="cuda")
    fp8 = bytes_.view(torch.float8_e4m3fn)
    jobs = [(tile, scale, bytes_, torch.float16) for tile in TILES]
    if for_layers is not None:
        every = product(CHOSEN_FROM.values(), (scale, scale[0]), (bytes_, fp8))
        jobs = [(*job, for_layers) for job in every]
    for tile, w_scale, codes, dtype in jobs[part::parts]:
        try:
            scaled_product(codes, codes, scale, w_scale, dtype=dtype, tile=tile)
        except Exception as error:
            print(f"{tile.name} {dtype}: {type(error).__name__}: {str(error)[:120]}", flush=True)


def compile_in_parallel(
    what: str, dtype: str = "float16", *, processes: int = 16, seconds: float = 120.0
) -> None:
    """Fill Triton's cache by many processes; one by one it takes minutes. What is not ready by then is
    compiled where it is needed."""
    command = [sys.executable, "-m", "benchmarks.h200.switchback", "--what", what, "--dtype", dtype]
    running = [
        subprocess.Popen([*command, "--part", f"{part}/{processes}"], stdout=subprocess.DEVNULL)
        for part in range(processes)
    ]
    deadline = time.monotonic() + seconds
    for process in running:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()


SHORT = 3e11
"""Operations below which ten calls make a graph; above, one: a replay's 5 µs are a hundredth of it then."""
LONG = 3e12
"""Operations that take several milliseconds: such a call hides the next one's launches. A layer in 8 bits has
eight of them, for which the host takes up to 0.7 ms: calls of 0.4 to 0.7 ms that were timed from Python had
been the host's time, and identical code differed by half."""


def device_timer(operations: float, seconds: float = 0.01) -> Timer:
    """Microseconds of one call, host time aside: long ones between events with the queue kept full, short
    ones as replays of a graph. Warm L2 either way."""
    if operations < LONG:
        return partial(time_graph, seconds=seconds, calls=CALLS_IN_A_GRAPH if operations < SHORT else 1)

    def between_events(call: Call) -> float:
        call()
        first = _between_events(call, 1)
        return _between_events(call, max(3, int(1e6 * seconds / first)))

    return between_events


def _between_events(call: Call, times: int) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    begin.record()
    for _ in range(times):
        call()
    end.record()
    end.synchronize()
    return float(1e3 * begin.elapsed_time(end)) / times


def rates(*, rounds: int = 3) -> Iterator[dict[str, Any]]:
    """One row a shape: 10^12 operations in a second, by way of computing it."""
    for m, k, n in SHAPES:
        x, w = (torch.randn(rows, k, device="cuda", dtype=torch.float16) for rows in (m, n))
        found = side_by_side(_calls(x, w), timer=device_timer(2.0 * m * k * n), rounds=rounds)
        work = 2e-6 * m * k * n
        yield {"m": m, "k": k, "n": n, **{name: us and round(work / us) for name, us in found.items()}}
        forget_graphs()


def _calls(x: Tensor, w: Tensor) -> dict[str, Call]:
    (x8, x_scale), (w8, w_scale) = quantize_rows(x), quantize_rows(w)
    f8 = torch.float8_e4m3fn
    (xf, xf_scale), (wf, wf_scale) = quantize_rows(x, code=f8), quantize_rows(w, code=f8)
    left, right = xf_scale[:, None] / 448, wf_scale[None, :] / 448

    def by_tile(tile: Tile) -> Call:
        return lambda: scaled_product(x8, w8, x_scale, w_scale, dtype=torch.float16, tile=tile)

    def fp8(fast: bool) -> Call:
        return lambda: torch._scaled_mm(
            xf, wf.t(), left, right, out_dtype=torch.bfloat16, use_fast_accum=fast
        )

    wide_x, wide_w = x.bfloat16(), w.bfloat16()
    return {
        "fp16": lambda: x @ w.t(),
        "bf16": lambda: wide_x @ wide_w.t(),
        "int_mm": lambda: torch._int_mm(x8, w8.t()),
        "fp8_fast": fp8(True),
        "fp8_exact": fp8(False),
        "fp8_triton": lambda: scaled_product(xf, wf, xf_scale, wf_scale, dtype=torch.bfloat16),
        **{tile.name: by_tile(tile) for tile in TILES},
    }


def weight_gradients(*, rounds: int = 3) -> Iterator[dict[str, Any]]:
    """g^T x in 16 bits, half of the layer's time: torch's product as it comes, and with the sides changed."""
    for m, k, n in SHAPES:
        x = torch.randn(m, k, device="cuda", dtype=torch.float16)
        g = torch.randn(m, n, device="cuda", dtype=torch.float16)
        w = torch.randn(n, k, device="cuda", dtype=torch.float16)
        calls: dict[str, Call] = {
            "g^T x": partial(torch.matmul, g.t(), x),
            "(x^T g)^T": partial(torch.matmul, x.t(), g),
            "g w": partial(torch.matmul, g, w),
            "x w^T": partial(torch.matmul, x, w.t()),
        }
        found = side_by_side(calls, timer=device_timer(2.0 * m * k * n), rounds=rounds)
        work = 2e-6 * m * k * n
        yield {"m": m, "k": k, "n": n, **{name: us and round(work / us) for name, us in found.items()}}
        forget_graphs()


def registers() -> list[dict[str, Any]]:
    """What each compiled product needs: more than nothing spilt is a reason to look."""
    compiled = kernel().device_caches[torch.cuda.current_device()][0]
    return [
        {
            "tile": "x".join(str(made.src.constants.get((place,))) for place in range(13, 21)),
            "registers": made.n_regs,
            "spilt": made.n_spills,
            "shared": made.metadata.shared,
        }
        for made in compiled.values()
    ]
