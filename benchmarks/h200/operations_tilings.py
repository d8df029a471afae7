"""Tilings of the row kernels: every one worth trying, over widths and numbers of rows.

python -m benchmarks.h200.operations_tilings [--what norms softmax] [--dtypes bfloat16 float32]
Each is compiled beforehand by several processes, checked against float64, then timed as a graph's replay with
warm and with cold L2.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import torch
from torch import Tensor

from benchmarks.h200.common import captured, save, time_cold
from stepmark.zoo.kernels import norm, softmax

Row = dict[str, Any]
WIDTHS = (768, 1024, 1280, 1600, 2560, 4096)
NUMBERS = (1024, 4096, 8192)
EPS = 1e-5
PARTS = 4


def power_above(width: int) -> int:
    return 1 << (width - 1).bit_length()


def cuts(width: int) -> list[tuple[int, int, int]]:
    """Size, rows and warps. A piece of 256 half numbers is a warp's 16-byte loads: rows of their own."""
    whole = power_above(width)
    found = [(256, 1, 1), (256, 4, 4), (512, 1, 2), (512, 2, 4), (1024, 1, 4), (whole, 1, 4), (whole, 1, 8)]
    if width > 2048:
        found += [(2048, 1, 8), (whole, 1, 16)]
    if width <= 1024:
        found += [(whole, 2, 4), (whole, 4, 4), (256, 2, 2)]
    return [cut for cut in dict.fromkeys(found) if cut[0] <= whole and width / cut[0] <= 16]


def forward_tilings(width: int) -> list[norm.Tiling]:
    return [norm.Tiling(*cut) for cut in cuts(width)]


def backward_tilings(width: int) -> list[norm.Tiling]:
    whole = power_above(width)
    found = [(1024, 1, 4), (whole, 1, 4), (whole, 1, 8), (whole, 2, 8)]
    if width <= 2560:
        found += [(whole, 2, 4), (whole, 4, 8), (512, 1, 2), (1024, 2, 4)]
    if width <= 1024:
        found += [(whole, 4, 4), (whole, 8, 8)]
    return [
        norm.Tiling(cut[0], cut[1], cut[2], stages, max(1, warps // cut[2]))
        for cut, stages, warps in itertools.product(dict.fromkeys(found), (3, 4), (8, 12, 16, 32))
        if width * cut[1] / (32 * cut[2]) <= 64  # more entries than this per lane do not fit the registers
        and (warps % cut[2] == 0)
    ]


SUMS = ((32, 64, 4), (32, 128, 8), (16, 128, 4), (16, 256, 8))


def choose_sum() -> None:
    """Of the second launch, by the time of both at two widths."""
    spent: dict[tuple[int, int, int], list[float]] = {}
    for width, number, centred in itertools.product((768, 4096), (1024, 8192), (True, False)):
        case = NormCase(number, width, torch.bfloat16, centred=centred)
        tiling = norm.Tiling(1024, 1, 4, 3, 2)
        for columns, depth, warps in SUMS:
            norm.COLUMNS, norm.DEPTH, norm.WARPS = columns, depth, warps
            spent.setdefault((columns, depth, warps), []).append(timed(partial(case.backward, tiling))[1])
    for variant, times in spent.items():
        print("sum", variant, [round(one, 1) for one in times], round(sum(times), 1), flush=True)
    norm.COLUMNS, norm.DEPTH, norm.WARPS = min(spent, key=lambda variant: sum(spent[variant]))


class NormCase:
    """One shape's inputs and calls."""

    def __init__(self, rows: int, width: int, dtype: torch.dtype, *, centred: bool) -> None:
        torch.manual_seed(0)
        self.rows, self.width, self.dtype, self.centred = rows, width, dtype, centred
        self.x = torch.randn(rows, width, device="cuda", dtype=dtype)
        self.g = torch.randn_like(self.x)
        self.weight = torch.randn(width, device="cuda", dtype=dtype)
        self.bias = torch.randn_like(self.weight) if centred else None
        self.parameters = norm.Parameters(self.weight, self.bias)
        _, moments = self.forward(forward_tilings(width)[0])
        assert moments is not None
        self.moments = moments

    def forward(self, tiling: norm.Tiling) -> tuple[Tensor, Tensor | None]:
        return norm.forward(self.x, self.parameters, eps=EPS, centred=self.centred, kept=True, tiling=tiling)

    def backward(self, tiling: norm.Tiling) -> norm.Gradients:
        return norm.backward(
            self.g, self.x, self.parameters, self.moments, wanted=(True, self.centred), tiling=tiling
        )

    def expected(self) -> dict[str, Tensor]:
        from stepmark.zoo.norms import layer_norm_reference, rms_norm_reference

        x, weight = (one.double().requires_grad_() for one in (self.x, self.weight))
        bias = None if self.bias is None else self.bias.double().requires_grad_()
        y = (
            layer_norm_reference(x, weight, bias, eps=EPS)
            if self.centred
            else rms_norm_reference(x, weight, eps=EPS)
        )
        torch.autograd.backward(y, self.g.double())
        found = {"y": y.detach(), "dx": x.grad, "dweight": weight.grad}
        if bias is not None:
            found["dbias"] = bias.grad
        return {name: one for name, one in found.items() if one is not None}


class SoftmaxCase:
    """One shape's inputs and calls."""

    def __init__(self, rows: int, width: int, dtype: torch.dtype) -> None:
        torch.manual_seed(0)
        self.x = 3 * torch.randn(rows, width, device="cuda", dtype=dtype)
        self.g = torch.randn_like(self.x)
        self.y = torch.softmax(self.x, -1)

    def forward(self, tiling: softmax.Tiling) -> Tensor:
        return softmax.forward(self.x, tiling=tiling)

    def backward(self, tiling: softmax.Tiling) -> Tensor:
        return softmax.backward(self.g, self.y, tiling=tiling)


def error(found: Tensor, expected: Tensor) -> float:
    return float((found.double() - expected).abs().max() / expected.abs().max())


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Microseconds of a replay, warm and cold."""
    graph, many = captured(call), captured(call, times=10)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    warm = []
    for _ in range(5):
        begin.record()
        many.replay()
        end.record()
        end.synchronize()
        warm.append(100 * begin.elapsed_time(end))
    return min(warm), time_cold(graph.replay)


def tried(case: str, tiling: object, call: Callable[[], object], **more: Any) -> Row:
    row: Row = {"case": case, "tiling": str(tuple(tiling)), **more}  # type: ignore[arg-type]
    try:
        row["warm"], row["cold"] = timed(call)
    except Exception as failure:
        row["failed"] = f"{type(failure).__name__}: {str(failure)[:80]}"
        torch.cuda.synchronize()
    return row


def norm_rows(width: int, dtype: torch.dtype, *, numbers: tuple[int, ...]) -> Iterator[Row]:
    for centred, number in itertools.product((True, False), numbers):
        case = NormCase(number, width, dtype, centred=centred)
        about = {"norm": "layer" if centred else "rms", "rows": number, "width": width, "dtype": str(dtype)}
        right = case.expected() if number == numbers[0] else None
        for tiling in forward_tilings(width):
            worst = error(case.forward(tiling)[0], right["y"]) if right else None
            yield tried("forward", tiling, partial(case.forward, tiling), **about, error=worst)
        for tiling in backward_tilings(width):
            worst = None
            if right:
                found = case.backward(tiling)
                named = {"dx": found.rows, "dweight": found.weight, "dbias": found.bias}
                worst = max(error(one, right[name]) for name, one in named.items() if one is not None)
            yield tried("backward", tiling, partial(case.backward, tiling), **about, error=worst)


def softmax_rows(width: int, dtype: torch.dtype, *, numbers: tuple[int, ...]) -> Iterator[Row]:
    for number in numbers:
        case = SoftmaxCase(number, width, dtype)
        about = {"rows": number, "width": width, "dtype": str(dtype)}
        wide = case.x.double()
        y = torch.softmax(wide, -1)
        dx = case.y.double() * (case.g.double() - (case.y.double() * case.g.double()).sum(-1, keepdim=True))
        for tiling in (softmax.Tiling(*cut) for cut in cuts(width)):
            for name, call, right in (("forward", case.forward, y), ("backward", case.backward, dx)):
                worst = error(call(tiling), right)
                yield tried(f"softmax {name}", tiling, partial(call, tiling), **about, error=worst)


def compile_ahead(task: tuple[str, int, str, int]) -> float:
    """A share of a width's kernels, in a process of its own, into Triton's cache on disk."""
    begin = time.perf_counter()
    what, width, dtype, part = task
    calls: list[Callable[[], object]] = []
    if what == "softmax":
        case = SoftmaxCase(8, width, getattr(torch, dtype))
        for cut in cuts(width):
            calls += [
                partial(case.forward, softmax.Tiling(*cut)),
                partial(case.backward, softmax.Tiling(*cut)),
            ]
    else:
        one = NormCase(8, width, getattr(torch, dtype), centred=what == "layer")
        calls += [partial(one.forward, tiling) for tiling in forward_tilings(width)]
        distinct = {tiling._replace(share=1) for tiling in backward_tilings(width)}
        calls += [partial(one.backward, tiling) for tiling in sorted(distinct)]
    for call in calls[part::PARTS]:
        attempt(call)
    return time.perf_counter() - begin


def attempt(call: Callable[[], object]) -> None:
    try:
        call()
    except Exception:
        traceback.print_exc(limit=1)


def best(rows: list[Row]) -> None:
    """The fastest three of each case, cold; and the fastest of all for a width's every number of rows."""
    named = ("case", "norm", "dtype", "width", "rows")
    good = [row for row in rows if "cold" in row]
    key = lambda row: tuple(str(row.get(name, "")).zfill(6) for name in named)  # noqa: E731
    for case, group in itertools.groupby(sorted(good, key=key), key=key):
        ranked = sorted(group, key=lambda row: row["cold"] + row["warm"])
        shown = [f"{row['tiling']} {row['warm']:.1f}/{row['cold']:.1f}" for row in ranked[:4]]
        print(" ".join(case), "|", "  ".join(shown), flush=True)
    errors = [row["error"] for row in good if row.get("error") is not None]
    print("largest error", max(errors, default=None), "failed", [row for row in rows if "failed" in row][:5])


def copy_rate() -> float:
    """Bytes per second, read and written, of a copy of 1 GiB."""
    source = torch.randn(1 << 28, device="cuda")
    target = torch.empty_like(source)
    seconds = statistics.median(time_cold(lambda: target.copy_(source)) for _ in range(3)) / 1e6
    return 2 * source.nbytes / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", nargs="+", default=["norms", "softmax"])
    parser.add_argument("--dtypes", nargs="+", default=["bfloat16"])
    parser.add_argument("--widths", nargs="+", type=int, default=list(WIDTHS))
    parser.add_argument("--rows", nargs="+", type=int, default=list(NUMBERS))
    chosen = parser.parse_args()
    kinds = {"norms": ["layer", "rms"], "softmax": ["softmax"]}
    ahead = [
        (kind, width, dtype, part)
        for what, width, dtype in itertools.product(chosen.what, reversed(chosen.widths), chosen.dtypes)
        for kind, part in itertools.product(kinds[what], range(PARTS))
    ]
    with ProcessPoolExecutor(14, mp_context=get_context("spawn")) as pool:
        print("compiled in", [round(seconds) for seconds in pool.map(compile_ahead, ahead)], flush=True)
    rate = copy_rate()
    print(f"copy {rate / 1e12:.2f} TB/s", flush=True)
    if "norms" in chosen.what:
        choose_sum()
    rows: list[Row] = []
    makers = {"norms": norm_rows, "softmax": softmax_rows}
    for what, width, dtype in itertools.product(chosen.what, chosen.widths, chosen.dtypes):
        found = makers[what](width, getattr(torch, dtype), numbers=tuple(chosen.rows))
        try:
            rows.extend(found)
        except Exception:
            traceback.print_exc(limit=3)
        save("operations-tilings", rows, copy_bytes_per_second=rate)
    best(rows)


if __name__ == "__main__":
    main()
