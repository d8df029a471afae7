"""The table of choices that comes with stepmark, from a file of choices made on the device.

    STEPMARK_CHOICES=FILE python -m benchmarks.h200.fragmented --what cells large train     and others
    python -m benchmarks.h200.choices FILE

Left out is a choice that names what no longer exists, and a choice of 8 bits for a SwitchBack layer that the
table of shapes contradicts: slower than 16 bits beyond MARGIN, chosen and named.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks.h200.common import DATA
from stepmark.zoo.kernels import few_rows, fragmented, product, switchback
from stepmark.zoo.kernels.dispatch import TABLES
from stepmark.zoo.kernels.fragmented_sizes import Sizes
from stepmark.zoo.kernels.int8 import TILES

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
    if operation == switchback.OPERATION:
        return {switchback.PLAIN, *(code for code in switchback.CODES if code in key)}
    known = {product.OPERATION: {product.TORCH, *TILES}, "few-rows-product/1": {"torch", *few_rows.TILES}}
    return known.get(operation)


def contradicted(shapes: list[dict[str, Any]]) -> set[str]:
    """Choices of 8 bits that were slower than 16 bits in both timings of their shape."""
    return {
        f"{switchback.OPERATION}|{rows},{outward},{inward},float16,{VECTOR}"
        for (rows, inward, outward), times, chosen in (
            (row["shape"], row["speed-up"], row["auto chose"]) for row in shapes if "us" in row
        )
        if chosen["vector"] != switchback.PLAIN and max(times["vector"], times["auto vector"]) < 1 - MARGIN
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


def main(file: Path) -> None:
    made = json.loads(file.read_text())
    (shapes,) = DATA.glob("switchback-shapes-float16-*.json")
    table = shipped(made, json.loads(shapes.read_text())["rows"])
    name = re.sub(r"[^a-z0-9.]+", "-", "-".join(table["made_for"].values()).lower())
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(names)}" for key, names in table["choices"].items())
    told = f'{{\n "made_for": {json.dumps(table["made_for"])},\n "choices": {{\n{lines}\n }}\n}}\n'
    (TABLES / f"{name}.json").write_text(told)
    print(f"{len(table['choices'])} of {len(made['choices'])} choices")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
