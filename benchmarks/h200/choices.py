"""The table of choices that comes with stepmark, brought up to date by files of choices made on the device.

    STEPMARK_CHOICES=FILE python -m benchmarks.h200.fragmented --what cells large train     and others
    python -m benchmarks.h200.choices FILE...

What is in the table stays; what shall be measured again is taken out of it first. Left out is a choice that
names what no longer exists, and a choice of 8 bits for a SwitchBack layer that the table of shapes
contradicts: slower than 16 bits beyond MARGIN, chosen and named.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks.h200.common import DATA
from stepmark.zoo.kernels import few_rows, fragmented, product
from stepmark.zoo.kernels.dispatch import TABLES
from stepmark.zoo.kernels.fragmented_sizes import Sizes
from stepmark.zoo.kernels.int8 import TILES
from stepmark.zoo.kernels.switchback import CODES, PLAIN
from stepmark.zoo.kernels.switchback_choice import OPERATION as SWITCHBACK

MARGIN = 0.03
VECTOR = "110-int800"
"""Of a layer's key: both gradients are needed, a scale for every row, inputs are kept."""


def names_known(name: str) -> set[str] | None:
    """What can be chosen there; None for an operation that is not."""
    operation, key = name.split("|")
    if operation == fragmented.OPERATION:
        *sizes, dtype, keep = key.split(",")
        rows, fragments, size, outputs, narrow = map(int, sizes)
        asked = Sizes(rows, fragments, size, outputs, narrow, getattr(torch, dtype), has_bias=False)
        return {*fragmented.candidates(asked, keep=keep == "kept")}
    if operation == SWITCHBACK:
        return {PLAIN, *(code for code in CODES if code in key)}
    known = {product.OPERATION: {product.TORCH, *TILES}, "few-rows-product/1": {"torch", *few_rows.TILES}}
    return known.get(operation)


def contradicted(shapes: list[dict[str, Any]]) -> set[str]:
    """Choices of 8 bits that were slower than 16 bits in both timings of their shape."""
    return {
        f"{SWITCHBACK}|{rows},{outward},{inward},float16,{VECTOR}"
        for (rows, inward, outward), times, chosen in (
            (row["shape"], row["speed-up"], row["auto chose"]) for row in shapes if "us" in row
        )
        if chosen["vector"] != PLAIN and max(times["vector"], times["auto vector"]) < 1 - MARGIN
    }


def shipped(made: dict[str, Any], shapes: list[dict[str, Any]]) -> dict[str, Any]:
    """The table, with what it was made for."""
    wrong = contradicted(shapes)
    kept = {
        name: names
        for name, names in sorted(made["choices"].items())
        if name not in wrong and {*names} <= (names_known(name) or set())
    }
    return {"made_for": made["made_for"], "choices": kept}


def together(tables: list[dict[str, Any]]) -> dict[str, Any]:
    """The later ones count; all must be made for the same."""
    (made_for,) = {json.dumps(table["made_for"]) for table in tables}
    every = {name: names for table in tables for name, names in table["choices"].items()}
    return {"made_for": json.loads(made_for), "choices": every}


def main(files: list[Path]) -> None:
    tables = [json.loads(file.read_text()) for file in files]
    made_for = tables[0]["made_for"]
    target = TABLES / (re.sub(r"[^a-z0-9.]+", "-", "-".join(made_for.values()).lower()) + ".json")
    before = [json.loads(target.read_text())] if target.exists() else []
    made = together([*before, *tables])
    shapes = DATA / "switchback-shapes-float16-0of1.json"
    table = shipped(made, json.loads(shapes.read_text())["rows"])
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(names)}" for key, names in table["choices"].items())
    told = f'{{\n "made_for": {json.dumps(made_for)},\n "choices": {{\n{lines}\n }}\n}}\n'
    target.write_text(told)
    print(f"{len(table['choices'])} of {len(made['choices'])} choices")


if __name__ == "__main__":
    main([Path(given) for given in sys.argv[1:]])
