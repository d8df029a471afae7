"""LoRA's ways one by one: each against float64, then each timed, forwards and backwards, eager and graph.

    python -m benchmarks.h200.lora_ways --what check ways parts

Kernels are compiled by several processes first, which only call each way once; then one process times.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from benchmarks.h200.common import forget_graphs, relative_error, save, side_by_side, time_eager, time_graph
from stepmark.zoo.kernels import lora_gradients, lora_products, lora_ways
from stepmark.zoo.kernels.lora_sizes import Adapted, Sizes, Tile
from stepmark.zoo.lora_reference import (
    lora_adapter_reference,
    lora_gradients_reference,
    lora_linear_reference,
)

SCALE = 2.0
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


class Shape(NamedTuple):
    """One layer and its tokens."""

    rows: int
    inputs: int
    outputs: int
    rank: int
    dtype: str = "bf16"
    base: bool = True


CHECKED = [
    Shape(64, 512, 512, 8), Shape(64, 512, 512, 8, "bf16", False), Shape(700, 272, 528, 33),
    Shape(4096, 1024, 1024, 16),
]  # fmt: skip
ODD = [
    Shape(1, 256, 96, 4), Shape(50, 208, 336, 33, "fp16"), Shape(37, 48, 32, 1, "fp32", False),
    Shape(700, 272, 528, 64), Shape(700, 272, 528, 5), Shape(3000, 272, 528, 33),
]  # fmt: skip
"""Sizes that fit no tile; each way in a process of its own part, because a fault ends a process."""
TIMED = [
    Shape(4096, 4096, 4096, 16),
    Shape(64, 2048, 2048, 8),
    Shape(4096, 1024, 1024, 8),
    Shape(64, 512, 512, 8),
]
IN_PARTS = TIMED
SPREAD = tuple(
    Tile(rows, columns, 16, warps, 1)
    for rows, columns, warps in ((64, 128, 4), (64, 256, 4), (128, 128, 8), (32, 256, 4), (128, 256, 8))
)
THIN = (Tile(32, 16, 128, 4, 4), Tile(64, 16, 128, 4, 4), Tile(64, 16, 128, 4, 3), Tile(128, 16, 64, 4, 5))
SPLITS = (1, 2, 4, 8)


class Case(NamedTuple):
    """A layer with an input, a gradient and s."""

    layer: Adapted
    x: Tensor
    g: Tensor
    s: Tensor


def case_of(shape: Shape) -> Case:
    torch.manual_seed(0)
    dtype, rank = DTYPES[shape.dtype], shape.rank

    def drawn(*sizes: int, deviation: float = 1.0) -> Tensor:
        return (torch.randn(sizes, device="cuda") * deviation).to(dtype)

    weight = drawn(shape.outputs, shape.inputs, deviation=shape.inputs**-0.5) if shape.base else None
    bias = drawn(shape.outputs) if shape.base else None
    a, b = drawn(shape.inputs, rank, deviation=rank**-0.5), drawn(rank, shape.outputs, deviation=rank**-0.5)
    layer = Adapted(weight, bias, a, b, SCALE)
    x, g = drawn(shape.rows, shape.inputs), drawn(shape.rows, shape.outputs)
    return Case(layer, x, g, lora_products.torch_thin(x, layer, forward=True))


def forward_ways(sizes: Sizes) -> dict[str, Callable[[], Any]]:
    ways: dict[str, Callable[[], Any]] = {**lora_ways.forward_ways(sizes)}
    if sizes.rows >= 2048:
        thin = lora_ways.thin_tile(sizes)
        for tile in SPREAD:
            ways[f"spread{thin}+{tile}"] = partial(lora_products.spread, sizes, thin, tile, forward=True)
    return ways


def part_calls(sizes: Sizes, case: Case) -> dict[str, Callable[[], Any]]:
    """Pieces: the base's products, torch's parts, the thin kernel's and the strips' tiles."""
    layer, x, g, s = case
    weight, bias, _, b, _ = layer
    h = lora_products.torch_thin(g, layer, forward=False)
    calls: dict[str, Callable[[], Any]] = {
        "torch x A": partial(lora_products.torch_thin, x, layer, forward=True),
        "torch dA dB": partial(lora_gradients.torch_factors, g, x, s, h),
    }
    if weight is not None and bias is not None:
        y = torch.empty_like(g)
        calls |= {
            "base y": lambda: torch.addmm(bias, x, weight.t()),
            "base dx": lambda: g.mm(weight),
            "base y added": lambda: y.addmm_(x, weight.t(), beta=1.0),
            "thin added onto y": lambda: y.addmm_(s, b, beta=1.0, alpha=1e-9),
            "thin written": lambda: torch.mm(s, b),
        }
    if sizes.precision == "bf16":
        for tile in THIN:
            calls[f"thin{tile}"] = partial(lora_products.thin_alone(sizes, tile, forward=True), x, layer)
            calls[f"thin{tile}back"] = partial(lora_products.thin_alone(sizes, tile, forward=False), g, layer)
        for splits in SPLITS:
            strips = lora_gradients.strips(sizes, lora_ways.strip_tile(sizes), splits)
            calls[f"strips in {splits}"] = partial(strips, g, x, s, h)
    return calls


def check(shape: Shape, only: tuple[str, str] | None = None) -> Iterator[dict[str, Any]]:
    case = case_of(shape)
    layer, x, g, _ = case
    wide = [None if one is None else one.double() for one in layer[:4]]
    weight, bias, a, b = wide
    assert a is not None and b is not None  # noqa: PT018
    if weight is None:
        truth = lora_adapter_reference(x.double(), a, b, scale=SCALE)
    else:
        truth = lora_linear_reference(x.double(), weight, bias, a, b, scale=SCALE)
    gradients = lora_gradients_reference(g.double(), x.double(), weight, a, b, scale=SCALE)
    sizes = lora_ways.plan_for(x, layer).sizes
    for name, make in forward_ways(sizes).items():
        if only and only != ("forward", name):
            continue
        with failures(shape, name):
            y, s = make()(x, layer)
            thin = relative_error(s, SCALE * (x.double() @ a))
            yield {
                **shape._asdict(),
                "pass": "forward",
                "way": name,
                "y": relative_error(y, truth),
                "s": thin,
            }
    for needs_dx in (True, False):
        for name, make in lora_ways.backward_ways(sizes, needs_dx=needs_dx).items():
            if only and only != ("backward", name):
                continue
            with failures(shape, name):
                found = make()(g, x, case.s, layer)
                errors = {
                    label: relative_error(one, other)
                    for label, one, other in zip(("dx", "da", "db"), found, gradients, strict=True)
                    if one is not None
                }
                yield {**shape._asdict(), "pass": "backward", "way": name, **errors}


class failures:  # noqa: N801
    """Printed, and left behind."""

    def __init__(self, shape: Shape, name: str) -> None:
        self.place = f"{tuple(shape)} {name}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> bool:
        if error is not None and isinstance(error, Exception):
            print(f"FAILED {self.place}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            return True
        return False


def calls_of(shape: Shape, what: str) -> dict[str, Callable[[], Any]]:
    case = case_of(shape)
    layer, x, g, s = case
    sizes = lora_ways.plan_for(x, layer).sizes
    if what == "parts":
        return part_calls(sizes, case)
    calls: dict[str, Callable[[], Any]] = {}
    for name, make in forward_ways(sizes).items():
        with failures(shape, name):
            calls[f"forward {name}"] = partial(make(), x, layer)
    for name, make in lora_ways.backward_ways(sizes, needs_dx=True).items():
        with failures(shape, name):
            calls[f"backward {name}"] = partial(make(), g, x, s, layer)
    return calls


def time_all(shape: Shape, what: str) -> dict[str, Any]:
    calls = calls_of(shape, what)
    warmed = {}
    for name, call in calls.items():
        with failures(shape, name):
            call()
            torch.cuda.synchronize()
            warmed[name] = call
    graph = side_by_side(warmed, timer=time_graph, rounds=2)
    eager = side_by_side(warmed, timer=partial(time_eager, seconds=0.01), rounds=2)
    forget_graphs()
    print("\n" + " ".join(map(str, shape)), what)
    for name in sorted(warmed, key=lambda one: (one.split()[0], graph[one] or 1e9)):
        print(f"  {name:45s} graph {graph[name] or 0:8.1f}  eager {eager[name] or 0:8.1f}", flush=True)
    return {**shape._asdict(), "what": what, "graph_us": graph, "eager_us": eager}


def check_odd(part: int, parts: int) -> None:
    """One part of the odd sizes, a wait after every way."""
    number = 0
    for shape in ODD:
        for row_of in odd_checks(shape):
            number += 1
            if number % parts == part:
                try:
                    print(row_of(), flush=True)
                except Exception as error:
                    print(f"FAILED {row_of.args[:2]}: {type(error).__name__}: {str(error)[:150]}", flush=True)
                    return


def odd_checks(shape: Shape) -> list[partial[str]]:
    layer, x, _, _ = case_of(shape)
    sizes = lora_ways.plan_for(x, layer).sizes
    names = [("forward", name) for name in lora_ways.forward_ways(sizes)]
    names += [("backward", name) for name in lora_ways.backward_ways(sizes, needs_dx=True)]
    return [partial(odd_row, shape, kind, name) for kind, name in names if not name.startswith("torch")]


def odd_row(shape: Shape, kind: str, name: str) -> str:
    row = next(row for row in check(shape, only=(kind, name)))
    return " ".join(f"{value:.1e}" if isinstance(value, float) else str(value) for value in row.values())


def compile_part(part: int, parts: int, what: list[str]) -> None:
    """Call every way of a part of the shapes once: Triton keeps what it compiled for the other processes."""
    number = 0
    shapes = (CHECKED if "check" in what else []) + (TIMED if {"ways", "parts"} & {*what} else [])
    for shape in shapes:
        kinds = ["ways"] if shape not in IN_PARTS else [one for one in what if one != "check"] or ["ways"]
        for call in [call for kind in kinds for call in calls_of(shape, kind).values()]:
            number += 1
            if number % parts == part:
                with failures(shape, "compiling"):
                    call()


def in_processes(what: list[str], processes: int) -> None:
    own = [sys.executable, "-m", "benchmarks.h200.lora_ways", "--what", *what, "--processes", str(processes)]
    running = [subprocess.Popen([*own, "--part", str(part)], env=os.environ) for part in range(processes)]
    for one in running:
        one.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = ["check", "ways", "parts", "odd"]
    parser.add_argument("--what", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--part", type=int)
    told = parser.parse_args()
    if told.part is not None:
        if "odd" in told.what:
            check_odd(told.part, told.processes)
        else:
            compile_part(told.part, told.processes, told.what)
        return
    if "odd" in told.what:
        in_processes(["odd"], told.processes)
    rest = [one for one in told.what if one != "odd"]
    if rest:
        in_processes(rest, told.processes)
    if "check" in rest:
        checked = [row for shape in CHECKED for row in check(shape)]
        for row in checked:
            print(
                " ".join(f"{value:.1e}" if isinstance(value, float) else str(value) for value in row.values())
            )
        save("lora-check", checked)
    rows: list[dict[str, Any]] = []
    for shape in TIMED if {"ways", "parts"} & {*rest} else []:
        for what in (one for one in rest if one != "check" and (one != "parts" or shape in IN_PARTS)):
            rows.append(time_all(shape, what))
            save("lora-ways", rows)


if __name__ == "__main__":
    main()
