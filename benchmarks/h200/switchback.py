"""SwitchBack on the GPU: `python -m benchmarks.h200.switchback --what
check|product|quantisers|shapes|peers`.

Every row is printed as it is found and kept as JSON, whatever fails later.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.h200.common import save
from stepmark.zoo.kernels import dispatch

Rows = Iterator[dict[str, Any]]


def _check(_: argparse.Namespace) -> Rows:
    from benchmarks.h200.switchback_check import checks

    yield from checks()


def _product(_: argparse.Namespace) -> Rows:
    from benchmarks.h200 import switchback_product as products

    products.compile_in_parallel("compile")
    yield from products.rates()
    yield from products.weight_gradients()
    try:
        yield from products.registers()
    except Exception as error:
        yield {"registers": f"not known: {error}"}


def _compile(chosen: argparse.Namespace) -> Rows:
    from benchmarks.h200.switchback_product import compile_tiles

    dtype = getattr(torch, chosen.dtype) if chosen.what == "compile-layers" else None
    compile_tiles(*_part(chosen), for_layers=dtype)
    yield {"compiled": chosen.part}


def _compile_peers(chosen: argparse.Namespace) -> Rows:
    from benchmarks.h200.switchback_shapes import tune_peers

    tune_peers(getattr(torch, chosen.dtype), *_part(chosen))
    yield {"tuned": chosen.part}


def _part(chosen: argparse.Namespace) -> tuple[int, int]:
    part, parts = map(int, chosen.part.split("/"))
    return part, parts


def _quantisers(_: argparse.Namespace) -> Rows:
    from benchmarks.h200.switchback_quantisers import bandwidths

    yield from bandwidths()


def _shapes(chosen: argparse.Namespace) -> Rows:
    from benchmarks.h200.page_switchback import known_shapes
    from benchmarks.h200.switchback_product import compile_in_parallel
    from benchmarks.h200.switchback_shapes import measured

    compile_in_parallel("compile-layers", chosen.dtype)
    if not chosen.no_peers:
        compile_in_parallel("compile-peers", chosen.dtype)
    part, parts = _part(chosen)
    left_out = known_shapes(chosen.dtype) if chosen.rest else set()
    yield from measured(
        getattr(torch, chosen.dtype), part=part, parts=parts, peers=not chosen.no_peers, left_out=left_out
    )


def _where(chosen: argparse.Namespace) -> str:
    """The end of the file's name."""
    part = "rest" if chosen.rest else chosen.part.replace("/", "of")
    return f"-{chosen.dtype}-{part}" + ("" if chosen.no_peers else "-peers")


def _layers(chosen: argparse.Namespace) -> Rows:
    from benchmarks.h200.switchback_layers import layers

    yield from layers(getattr(torch, chosen.dtype))


WHAT = {
    "check": _check,
    "product": _product,
    "compile": _compile,
    "compile-layers": _compile,
    "compile-peers": _compile_peers,
    "quantisers": _quantisers,
    "shapes": _shapes,
    "peers": _layers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", choices=[*WHAT], required=True)
    parser.add_argument("--part", default="0/1", help="of the shapes: 0/4 is the first of four")
    parser.add_argument("--dtype", default="float16", choices=["float16", "bfloat16"])
    parser.add_argument("--no-peers", action="store_true", help="leave bitsandbytes' kernels out")
    parser.add_argument("--anew", action="store_true", help="choose anew, whatever the package's table says")
    parser.add_argument("--rest", action="store_true", help="of shapes: those that the data here lack")
    chosen = parser.parse_args()
    torch.manual_seed(0)
    if chosen.anew:
        dispatch.TABLES = Path(os.devnull)
    where = _where(chosen) if chosen.what == "shapes" else ""
    begin, rows = time.perf_counter(), []
    for row in WHAT[chosen.what](chosen):
        rows.append(row)
        print(json.dumps(row), flush=True)
        if not chosen.what.startswith("compile"):  # at every row: a run that was stopped had left no file
            seconds = round(time.perf_counter() - begin, 1)
            save(f"switchback-{chosen.what}{where}", rows, seconds=seconds)


if __name__ == "__main__":
    main()
