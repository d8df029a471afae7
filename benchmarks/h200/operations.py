"""Norms, softmax and AdamW on the GPU against torch, torch.compile and Liger, and against a copy's bandwidth.

python -m benchmarks.h200.operations --what norms|softmax|adamw [--rows ...] [--widths ...] [--ways ...]
Writes operations-WHAT.json. What torch.compile needs is compiled beforehand by several processes, which takes
a minute or two; without it (--ways torch liger triton auto) a shape takes some two seconds, and half a second
where only calls from Python are timed (--from-python, which writes operations-WHAT-python.json).
"""

from __future__ import annotations

import argparse
import itertools
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import torch

from benchmarks.h200.common import save
from benchmarks.h200.operations_adamw import adamw_rows, tiling_rows
from benchmarks.h200.operations_tilings import copy_rate
from benchmarks.h200.operations_ways import WAYS, Shape, from_python, times_of, ways
from stepmark.zoo.kernels import dispatch, row_choice
from stepmark.zoo.kernels.dispatch import Key

Row = dict[str, Any]
WIDTHS = (768, 1024, 1280, 1600, 2560)
NUMBERS = (1024, 4096, 8192)
PUBLISHED = ((64, 1024), (64, 512), (2048, 4096))
PEERS = ("torch", "compiled", "liger")
PYTHON = ("forward_eager", "training_eager")
PROCESSES = 14


def shapes(operations: list[str], *, numbers: list[int], widths: list[int]) -> list[Shape]:
    """The widths of language models, the target's shape in both dtypes, and the published shapes."""
    given = [(8192, 4096, dtype, True) for dtype in ("bfloat16", "float32")]
    given += [(*pair, "bfloat16", True) for pair in itertools.product(numbers, widths)]
    given += [(*pair, "float32", False) for pair in PUBLISHED]
    return [Shape(operation, *one) for one, operation in itertools.product(given, operations)]


def measured(shape: Shape, rate: float, chosen: list[str]) -> Iterator[Row]:
    """One row a way."""
    found = ways(shape, chosen)
    spent = from_python(found, shape)
    for name, way in found.items():
        row: Row = {**shape._asdict(), "way": name}
        try:
            row |= spent[name] | times_of(way, shape)
            for direction, count in shape.bytes().items():
                for regime in ("warm", "cold"):
                    seconds = row[f"{direction}_{regime}"] / 1e6
                    row[f"{direction}_{regime}_share"] = count / seconds / rate
        except Exception as failure:
            row["failed"] = f"{type(failure).__name__}: {str(failure)[:200]}"
            traceback.print_exc(limit=2)
        if missing := {*PYTHON} - {*spent[name]}:
            row.setdefault("failed", f"not timed from Python: {', '.join(sorted(missing))}")
        torch.cuda.synchronize()
        yield row


def compile_ahead(shape: Shape) -> None:
    """In a process of its own, into the compilers' caches on disk."""
    prepare()
    for way in ways(shape, ["compiled"]).values():
        try:
            tensors = shape.tensors()
            with torch.no_grad():
                way(*tensors)
            y = way(*tensors)
            torch.autograd.grad(y, [one for one in tensors if one is not None], torch.ones_like(y))
        except Exception:
            traceback.print_exc(limit=1)


def prepare() -> None:
    import torch._functorch.config

    # Backward passes are replayed: their inputs must not be taken for temporaries.
    torch._functorch.config.donated_buffer = False
    torch._dynamo.config.cache_size_limit = 512


def judged(rows: list[Row]) -> str:
    """Of one shape: ours beside the best of the others, and the share of a copy's bandwidth."""
    by = {row["way"]: row for row in rows if "failed" not in row}
    told = [
        f"{what} {_told(by, what, 'triton')}"
        for what in ("forward_warm", "forward_cold", "backward_warm", "backward_cold")
    ]
    ours = "auto" if "auto" in by else "triton"
    told += [f"{what} {_told(by, what, ours)}" for what in PYTHON]
    return " ".join(str(rows[0][name]) for name in Shape._fields) + " | " + " | ".join(told)


def judged_calls(rows: list[Row]) -> str:
    """The same of calls from Python alone."""
    by = {row["way"]: row for row in rows}
    told = [f"{what} {_told(by, what, 'auto')}" for what in PYTHON]
    return " ".join(str(rows[0][name]) for name in Shape._fields) + " | " + " | ".join(told)


def _told(by: dict[str, Row], what: str, ours: str) -> str:
    peers = {name: by[name][what] for name in PEERS if what in by.get(name, ())}
    if what not in by.get(ours, ()) or not peers:
        return "-"
    best = min(peers, key=lambda name: peers[name])
    share = by[ours].get(f"{what}_share")
    shown = "" if share is None else f" {100 * share:.0f}%"
    return f"{by[ours][what]:.1f} vs {best} {peers[best]:.1f}{shown}"


def called(shape: Shape, chosen: list[str]) -> Iterator[Row]:
    """One row a way, of calls from Python alone; `auto` with what it chose for them."""
    for name, times in from_python(ways(shape, chosen), shape).items():
        yield {
            **shape._asdict(),
            "way": name,
            **times,
            **({"chose": choices_of(shape)} if name == "auto" else {}),
        }


def choices_of(shape: Shape) -> dict[str, str]:
    """For calls from Python, by what is called; nothing where no choice was made."""
    vectors: dict[str, list[str | None]] = {
        "rms_norm": [shape.dtype, None],
        "layer_norm": [shape.dtype] * 2,
        "softmax": [],
    }
    given = [str(one if shape.affine else None) for one in vectors[shape.operation]]
    key: Key = (1 << (shape.rows - 1).bit_length(), shape.width, shape.dtype, *given)
    found = {}
    for what, kind in zip(PYTHON, ("forward", "train"), strict=True):
        name = dispatch.choice_name(f"{shape.operation}-{kind}/{row_choice.VERSION}", key)
        if name in dispatch.choices():
            found[what] = dispatch.choices()[name].eager
    return found


def compare_calls(name: str, wanted: list[Shape], chosen: list[str]) -> None:
    """Shape by shape, as below."""
    rows: list[Row] = []
    for shape in wanted:
        found = list(called(shape, chosen))
        print(judged_calls(found), flush=True)
        rows += found
        save(name, rows)


def compare(name: str, wanted: list[Shape], chosen: list[str]) -> None:
    """Shape by shape: printed and saved as soon as it is known."""
    if "compiled" in chosen:
        prepare()
        with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
            list(pool.map(compile_ahead, wanted))
    rate = copy_rate()
    print(f"copy {rate / 1e12:.2f} TB/s", flush=True)
    rows: list[Row] = []
    for shape in wanted:
        found = list(measured(shape, rate, chosen))
        print(judged(found), flush=True)
        rows += found
        save(name, rows, copy_bytes_per_second=rate)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", choices=["norms", "softmax", "adamw"], required=True)
    parser.add_argument("--rows", nargs="*", type=int, default=list(NUMBERS))
    parser.add_argument("--widths", nargs="*", type=int, default=list(WIDTHS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--from-python", action="store_true", help="calls from Python alone")
    parser.add_argument("--tilings", action="store_true", help="of adamw: its pieces and programs instead")
    chosen = parser.parse_args()
    if chosen.what == "adamw":
        if chosen.tilings:
            save("operations-adamw-tilings", tiling_rows())
        else:
            adamw_rows()
        return
    operations = {"norms": ["rms_norm", "layer_norm"], "softmax": ["softmax"]}[chosen.what]
    wanted = shapes(operations, numbers=chosen.rows, widths=chosen.widths)
    if chosen.from_python:
        compare_calls(f"operations-{chosen.what}-python", wanted, chosen.ways)
        return
    compare(f"operations-{chosen.what}", wanted, chosen.ways)


if __name__ == "__main__":
    main()
