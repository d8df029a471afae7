"""Which tiles FragmentedLinear's kernels are fast with: checked against float64, then timed in graphs."""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from benchmarks.h200.common import (
    forget_graphs,
    relative_error,
    save,
    side_by_side,
    time_eager,
    time_graph,
)
from stepmark.zoo.fragmented import FragmentedLinear
from stepmark.zoo.fragmented_reference import hard_reference
from stepmark.zoo.kernels import few_rows, fragmented
from stepmark.zoo.kernels.fragmented_chain import launchers
from stepmark.zoo.kernels.fragmented_plans import GroupsPlan, rows_plan, tiles_plan
from stepmark.zoo.kernels.fragmented_products import products_plan
from stepmark.zoo.kernels.fragmented_sizes import Parameters, Sizes
from stepmark.zoo.kernels.fragmented_sorted import SortedPlan
from stepmark.zoo.kernels.fragmented_sorted import launchers as sorting_launchers

Shape = tuple[int, int, int, str]
"""Features in and out, rows, fragments, dtype."""

_SPLIT = {"splits": 32, "tile_narrow": 32}
MORE_ONE: dict[str, dict[str, Any]] = {
    "rows-32x32x32-late": _SPLIT | {"tile": 32, "late": True},
    "rows-32x32x16-deeper-late": _SPLIT | {"tile": 16, "step": 512, "late": True},
    "rows-32x32x16w8-deeper-late": _SPLIT | {"tile": 16, "step": 512, "num_warps": 8, "late": True},
    "rows-32x32x32w8-deep-ahead-late": _SPLIT
    | {"tile": 32, "step": 256, "num_warps": 8, "ahead": True, "late": True},
}
_BY_ONE = {"tile": 32, "step": 64, "by_rows": 1}
MORE_FEW: dict[str, dict[str, Any]] = {
    "tiles-64x128-ahead": {"tile": 64, "step": 128, "stages": 4, "ahead": True},
    "tiles-32x128": {"tile": 32, "step": 128, "stages": 5},
    "tiles-32x256-ahead": {"tile": 32, "step": 256, "stages": 4, "ahead": True},
    "tiles-32x64w2-by1": _BY_ONE | {"num_warps": 2},
    "tiles-64x64-by1": _BY_ONE | {"tile": 64},
    "tiles-32x64-by1-s16": _BY_ONE | {"splits": 16},
    "tiles-32x64-by1-n16": _BY_ONE | {"tile_narrow": 16},
    "tiles-32x64-by1-n64": _BY_ONE | {"tile_narrow": 64},
}
MORE_PRODUCTS: dict[str, dict[str, Any]] = {
    "products-128x128-16": {"tile": 128, "last": 16, "step": 128},
    "products-128-32-n32-l512": {"tile": 128, "last": 32, "tile_narrow": 32, "length": 512},
    "products-128-32-n64": {"tile": 128, "last": 32, "tile_narrow": 64},
}
MORE_GROUPS: dict[str, dict[str, Any]] = {
    "groups-128x128x64": {"rows": 128, "tile": 128, "step": 64, "num_warps": 8},
}
_WIDE = {"step": 64, "num_warps": 8, "rows": 128}
MORE_SORTED: dict[str, dict[str, Any]] = {
    "sorted-64x128x64": {"rows": 64, "tile": 128, "step": 64, "stages": 4},
    "sorted-128x128x64w4": {"rows": 128, "tile": 128, "step": 64, "narrow": (128, 128, 8, 4)},
    "sorted-128x256x64-n128": _WIDE | {"tile": 256, "stages": 4, "narrow": (128, 256, 8, 4)},
    "sorted-128x256x32": _WIDE | {"step": 32, "tile": 256, "stages": 6, "narrow": (128, 256, 8, 4)},
}


def shapes(what: str) -> list[Shape]:
    if what == "one":
        return [
            *((8192, 1, number, "float32") for number in (128, 32)),
            (4096, 1, 128, "float32"),
            *((8192, 1, number, "bfloat16") for number in (128, 32, 2)),
            *((4096, 1, number, "bfloat16") for number in (128, 2)),
            (2048, 1, 2, "bfloat16"),
        ]
    if what == "few":
        return [
            *((2048, rows, 2, "float32") for rows in (8, 16)),
            *((2048, rows, number, "bfloat16") for rows in (8, 16) for number in (2, 8, 32, 128)),
            *((4096, rows, number, "bfloat16") for rows in (8, 16) for number in (2, 8, 32, 128)),
            *((8192, rows, number, "bfloat16") for rows in (8, 16) for number in (128, 2)),
        ]
    return [
        *((4096, 2048, number, "bfloat16") for number in (8, 32, 128)),
        (4096, 8192, 32, "bfloat16"),
        *((8192, 2048, number, "bfloat16") for number in (8, 128)),
        (8192, 8192, 8, "bfloat16"),
    ]


def plans(shape: Shape) -> dict[str, Callable[[], Any]]:
    n, rows, number, dtype = shape
    sizes = Sizes(rows, number, n // number, n, n // 32, getattr(torch, dtype), False)
    kinds: list[tuple[Any, dict[str, dict[str, Any]]]] = []
    if rows == 1:
        kinds = [(rows_plan, MORE_ONE)]
    elif rows <= 16:
        kinds = [(tiles_plan, MORE_FEW)]
        if "products-64-32" in fragmented.candidates(sizes):
            kinds.append((products_plan, MORE_PRODUCTS))
    else:
        kinds = [(GroupsPlan, MORE_GROUPS), (SortedPlan, MORE_SORTED)]
    more = {name: _later(kind, sizes, **options) for kind, named in kinds for name, options in named.items()}
    return {name: partial(_candidate, sizes, name) for name in fragmented.candidates(sizes)} | more


def _candidate(sizes: Sizes, name: str) -> Any:
    return fragmented.candidates(sizes)[name]


def _later(kind: Any, *args: Any, **options: Any) -> Callable[[], Any]:
    return lambda: kind(*args, **options)


def tensors(shape: Shape) -> tuple[torch.Tensor, Parameters]:
    n, rows, number, dtype = shape
    torch.manual_seed(0)

    def draw(*sizes: int, scale: float = 1.0) -> torch.Tensor:
        return (torch.randn(*sizes, device="cuda") * scale).to(getattr(torch, dtype))

    size, narrow = n // number, n // 32
    selector, weight = draw(number, size, scale=size**-0.5), draw(number, size, n, scale=size**-0.5)
    low = draw(n, narrow, scale=n**-0.5), draw(n, narrow, scale=0.06)
    return draw(rows, n), Parameters(selector, weight, *low, None)


def compile_some(jobs: list[tuple[Shape, str]]) -> None:
    """Into Triton's cache on disk; whatever goes wrong is seen again later."""
    for shape, name in jobs:
        try:
            plans(shape)[name]()(*tensors(shape))
        except Exception as error:
            print(f"while compiling {shape} {name}: {type(error).__name__}", flush=True)
    torch.cuda.synchronize()


def compile_all(what: str, processes: int) -> None:
    jobs = [(shape, name) for shape in shapes(what) for name in plans(shape) if name != "masked"]
    begin = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        pool.map(compile_some, [jobs[start::processes] for start in range(processes)], chunksize=1)
    print(f"{len(jobs)} plans compiled in {time.perf_counter() - begin:.0f} s", flush=True)


def measure(what: str) -> Iterator[dict[str, Any]]:
    for shape in shapes(what):
        given = tensors(shape)
        n, rows, number, dtype = shape
        linear = torch.nn.Linear(n, n, device="cuda", dtype=getattr(torch, dtype)).requires_grad_(False)
        calls: dict[str, Any] = {"linear": lambda given=given, linear=linear: linear(given[0])}
        errors = {}
        truth = hard_reference(*(one.double() for one in (given[0], *given[1][:4]))) if rows <= 16 else None
        for name, make in plans(shape).items():
            try:
                plan = make()
                y = plan(*given)[0]
                if truth is not None:
                    errors[name] = relative_error(y, truth)
                elif name != "masked":
                    errors[name] = relative_error(y, fragmented.masked(*given)[0])
                calls[name] = lambda plan=plan, given=given: plan(*given)
            except Exception as error:
                print(f"{shape} {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        with torch.no_grad():
            graph = side_by_side(calls, time_graph, rounds=3)
            in_eager = {name: calls[name] for name in list(calls)[:2]}
            if rows == 1:
                layer = FragmentedLinear(n, n, number, device="cuda", dtype=getattr(torch, dtype)).eval()
                in_eager["layer"] = lambda layer=layer, given=given: layer(given[0])
            eager = side_by_side(in_eager, time_eager, rounds=3)
        row = {"n": n, "rows": rows, "fragments": number, "dtype": dtype, "graph": graph, "eager": eager}
        print(
            f"\nn={n} rows={rows} fragments={number} {dtype}: linear {graph['linear']} eager {eager}",
            flush=True,
        )
        for name, spent in sorted(graph.items(), key=lambda item: item[1] or 1e9):
            print(f"   {name:28} {spent or 0:9.2f} us  error {errors.get(name, 0):.1e}", flush=True)
        yield row | {"errors": errors}
        forget_graphs()


def registers() -> None:
    for launcher in (*launchers().values(), *sorting_launchers().values(), *few_rows._launchers()):
        for cached in launcher.function.device_caches.values():
            for kernel in cached[0].values():
                if kernel.n_spills:
                    print(f"{kernel.name}: {kernel.n_regs} registers, {kernel.n_spills} spilled, "
                          f"{kernel.metadata.num_warps} warps, shared {kernel.metadata.shared}")  # fmt: skip


def measure_few_rows() -> Iterator[dict[str, Any]]:
    for n, rows, turned in itertools.product((8192, 4096), (16, 1), (False, True)):
        a, b = torch.randn(rows, n, device="cuda"), torch.randn(n, n, device="cuda")
        b = b.t() if turned else b
        calls: dict[str, Any] = {"torch": lambda a=a, b=b: a @ b}
        truth = a.double() @ b.double()
        errors = {"torch": relative_error(a @ b, truth)}
        for name in few_rows.TILES:
            try:
                errors[name] = relative_error(few_rows._by_tiles(None, a, b, name), truth)
                calls[name] = lambda a=a, b=b, name=name: few_rows._by_tiles(None, a, b, name)
            except Exception as error:
                print(f"few rows {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        graph = side_by_side(calls, time_graph, rounds=3)
        print(f"few rows n={n} rows={rows} turned={turned}")
        for name, spent in sorted(graph.items(), key=lambda item: item[1] or 1e9):
            print(f"   {name:28} {spent or 0:9.2f} us  error {errors[name]:.1e}", flush=True)
        yield {"n": n, "rows": rows, "turned": turned, "graph": graph, "errors": errors}
        forget_graphs()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", nargs="+", default=["one", "few", "many", "products"])
    parser.add_argument("--processes", type=int, default=14)
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    for what in options.what:
        rows: list[dict[str, Any]] = []
        if what != "products":
            compile_all(what, options.processes)
        for row in measure_few_rows() if what == "products" else measure(what):
            rows.append(row)
            save(f"fragmented_tilings_{what}", rows)
    registers()


if __name__ == "__main__":
    main()
