"""FragmentedLinear beside nn.Linear: the 36 published cells, large batches, and a training step.

    python -m benchmarks.h200.fragmented --what cells large train inside

Evaluation is hard selection without gradients; the layer decides by itself (backend="auto"). Graph: time of
one of ten calls in a replayed CUDA graph, warm L2. Eager: calls from Python in a row. Cold: one call between
events, the L2 overwritten before. All take random turns with nn.Linear (with bias, as published). Theory:
1 / (U/F + 1/16), U fragments chosen by these rows. With STEPMARK_CHOICES naming a file the choices go there.
A training step is forward, loss, backward and Adam; `inside` are steps of a layer inside a network, whose
input wants a gradient too.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from benchmarks.h200.common import (
    Call,
    captured,
    forget_graphs,
    relative_error,
    save,
    side_by_side,
    time_cold,
    time_eager,
    time_graph,
)
from stepmark.zoo.fragmented import FragmentedLinear
from stepmark.zoo.fragmented_reference import fragment_scores, hard_reference
from stepmark.zoo.kernels import dispatch, fragmented
from stepmark.zoo.kernels.fragmented_sizes import Sizes

Cell = tuple[int, int, int, str]
"""Features in and out, rows, fragments, dtype."""
Measure = Callable[[list[Cell]], Iterator[dict[str, Any]]]

CELLS: list[Cell] = [
    (n, rows, number, dtype)
    for dtype, n, rows, number in itertools.product(
        ("float32", "bfloat16"), (2048, 4096, 8192), (1, 8, 16), (2, 8, 32, 128)
    )
]
LARGE: list[Cell] = [
    (n, rows, number, dtype)
    for dtype, n, rows, number in itertools.product(
        ("bfloat16", "float32"), (4096, 8192), (2048, 8192), (8, 32, 128)
    )
]
MIDDLE: list[Cell] = [(4096, rows, 32, "bfloat16") for rows in (32, 64, 128, 256, 512, 1024)]
TRAINED: list[Cell] = [
    *((n, rows, number, "float32") for n in (2048, 4096, 8192) for rows in (1, 8, 16) for number in (8, 128)),
    *((4096, 2048, 32, dtype) for dtype in ("float32", "bfloat16")),
]
INSIDE: list[Cell] = [
    *((n, rows, 8, "float32") for n in (4096, 8192) for rows in (1, 8, 16)),
    *((4096, 2048, 32, dtype) for dtype in ("float32", "bfloat16")),
]


def layers(cell: Cell) -> tuple[torch.nn.Linear, FragmentedLinear, torch.Tensor]:
    n, rows, number, name = cell
    dtype = getattr(torch, name)
    torch.manual_seed(0)
    linear = torch.nn.Linear(n, n, device="cuda", dtype=dtype)
    layer = FragmentedLinear(n, n, number, device="cuda", dtype=dtype)
    return linear, layer, torch.randn(rows, n, device="cuda", dtype=dtype)


def evaluate(cells: list[Cell]) -> Iterator[dict[str, Any]]:
    for cell in cells:
        n, rows, number, name = cell
        linear, layer, x = layers(cell)
        layer.eval()
        with torch.no_grad():
            calls: dict[str, Call] = {"linear": lambda: linear(x), "fragmented": lambda: layer(x)}  # noqa: B023
            y = layer(x)
            graph = side_by_side(calls, time_graph, rounds=5)
            eager = side_by_side(calls, time_eager, rounds=3)
            cold = side_by_side(calls, time_cold, rounds=1)
            scores = fragment_scores(x.float(), layer.selector.float())
            chosen = len(set(scores.argmax(-1).tolist()))
        row = _described(cell) | {"graph": graph, "eager": eager, "cold": cold}
        row |= {
            "error": _error(layer, x, y),
            "theory": 1 / (chosen / number + 1 / 16),
            "chosen": chosen,
            "plan": _plan(cell),
        }
        for regime, times in (("graph_ratio", graph), ("eager_ratio", eager), ("cold_ratio", cold)):
            row[regime] = (times["linear"] or 0) / (times["fragmented"] or 1e9)
        print(
            f"{name:9} n={n:5} rows={rows:5} F={number:4} linear {graph['linear']:9.2f} us, ours "
            f"{graph['fragmented']:9.2f}, graph {row['graph_ratio']:6.2f}x (theory {row['theory']:5.2f}), "
            f"eager {row['eager_ratio']:6.2f}x ({eager['fragmented']:.1f} us), "
            f"cold {row['cold_ratio']:6.2f}x, error {row['error']:.0e}, {row['plan']}",
            flush=True,
        )
        yield row
        forget_graphs()


def _error(layer: FragmentedLinear, x: torch.Tensor, y: torch.Tensor) -> float:
    """Of up to 16 rows, against float64 on the same values."""
    given = (layer.selector, layer.weight, layer.compressor, layer.decompressor)
    with torch.no_grad():
        truth = torch.cat(
            [hard_reference(one.double(), *(each.double() for each in given)) for one in x[:16, None]]
        )
    return relative_error(y[:16], truth)


def _described(cell: Cell) -> dict[str, Any]:
    return dict(zip(("n", "rows", "fragments", "dtype"), cell, strict=True))


def _plan(cell: Cell) -> tuple[str, ...]:
    return tuple(dispatch.choices().get(dispatch.choice_name(fragmented.OPERATION, _key(cell)), ()))


def _sizes(cell: Cell) -> Sizes:
    n, rows, number, dtype = cell
    return Sizes(rows, number, n // number, n, n // 32, getattr(torch, dtype), has_bias=False)


def _key(cell: Cell) -> tuple[int | str, ...]:
    return (*_sizes(cell).key, "alone")


def train(cells: list[Cell], *, inside: bool = False) -> Iterator[dict[str, Any]]:
    for cell in cells:
        linear, layer, x = layers(cell)
        target = torch.randn_like(x)
        x.requires_grad_(inside)
        steps = {
            "linear": training_step(linear, x, target),
            "fragmented": training_step(layer.train(), x, target),
        }
        eager = side_by_side(steps, time_eager, rounds=5)
        memory = {name: _peak(step) for name, step in steps.items()}
        graphs = {name: captured(step, times=1).replay for name, step in steps.items()}
        graph = side_by_side(graphs, time_eager, rounds=5)
        row = _described(cell) | {"eager": eager, "graph": graph, "peak_bytes": memory}
        ratios = {
            kind: (times["fragmented"] or 0) / (times["linear"] or 1)
            for kind, times in (("eager", eager), ("graph", graph), ("memory", memory))
        }
        print(f"train {cell}: {ratios} {eager} {graph}", flush=True)
        yield row | {"ratios": ratios}
        del linear, layer, steps, graphs
        forget_graphs()


def training_step(module: torch.nn.Module, x: torch.Tensor, target: torch.Tensor) -> Call:
    """Forward, loss, backward and fused Adam."""
    optimizer = torch.optim.Adam(module.parameters(), fused=True, capturable=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        x.grad = None
        torch.nn.functional.mse_loss(module(x), target).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    step.module = module  # type: ignore[attr-defined]
    return step


def _peak(step: Call) -> int:
    """Of one step, with the module's own parameters and optimizer state, without the other module's."""
    step()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    torch.cuda.synchronize()
    module: torch.nn.Module = step.module  # type: ignore[attr-defined]
    own = sum(4 * one.numel() * one.element_size() for one in module.parameters())
    return own + torch.cuda.max_memory_allocated() - before


def compile_plans(cells: list[Cell], processes: int) -> None:
    """Into Triton's cache, side by side: what the table of choices names, or every candidate."""
    jobs = []
    for cell in cells:
        known = set(_plan(cell))
        names = fragmented.candidates(_sizes(cell))
        jobs += [(cell, name) for name in names if name in known or not known]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        pool.map(_compile, [jobs[start::processes] for start in range(processes)], chunksize=1)


def _compile(jobs: list[tuple[Cell, str]]) -> None:
    for cell, name in jobs:
        _, layer, x = layers(cell)
        with torch.no_grad():
            try:
                fragmented.candidates(_sizes(cell))[name](x, layer._own_parameters())
            except Exception as error:
                print(f"while compiling {cell} {name}: {type(error).__name__}: {error}", flush=True)
    torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", nargs="+", default=["cells", "large", "train"])
    parser.add_argument("--processes", type=int, default=14)
    parser.add_argument("--shapes", default="2048,4096,8192", help="features, of those there are")
    parser.add_argument("--dtypes", default="float32,bfloat16")
    options = parser.parse_args()
    sizes, dtypes = set(map(int, options.shapes.split(","))), options.dtypes.split(",")
    kinds = {
        kind: [cell for cell in cells if cell[0] in sizes and cell[3] in dtypes]
        for kind, cells in {
            "cells": CELLS,
            "large": [*LARGE, *MIDDLE],
            "train": TRAINED,
            "inside": INSIDE,
        }.items()
    }
    measures: dict[str, Measure] = {"train": train, "inside": partial(train, inside=True)}
    for what in options.what:
        rows: list[dict[str, Any]] = []
        if what not in measures:
            compile_plans(kinds[what], options.processes)
        for row in measures.get(what, evaluate)(kinds[what]):
            rows.append(row)
            save(f"fragmented_{what}", rows)


if __name__ == "__main__":
    main()
