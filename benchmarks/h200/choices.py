"""The table of choices that comes with stepmark, brought up to date by files of choices made on the device.

    STEPMARK_CHOICES=FILE python -m benchmarks.h200.fragmented --what cells large train     and others
    python -m benchmarks.h200.choices FILE...

What is in the table stays; what shall be measured again is taken out of it first. Left out is a choice that
names what no longer exists. A SwitchBack layer in float16 that chose 8 bits for graphs gets 16 where the
timings of its shape, of all runs that are kept, say in their geometric mean that 8 are slower: a choice is
made by one measurement of some milliseconds, and identical code scatters by more than shapes differ.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks.h200.page_data import Row, geometric_mean, rows
from benchmarks.h200.page_switchback import is_the_devices
from stepmark.zoo.kernels import few_rows, few_rows_gradients, fragmented, lora_ways, product
from stepmark.zoo.kernels.dispatch import TABLES
from stepmark.zoo.kernels.fragmented_sizes import Sizes
from stepmark.zoo.kernels.int8 import TILES
from stepmark.zoo.kernels.switchback import CODES, PLAIN
from stepmark.zoo.kernels.switchback_choice import OPERATION as SWITCHBACK

AUTO = {"110-int800": "vector", "110-int810": "global", "110-int800-fp800": "any"}
NAMED = {"110-int800": "vector", "110-int810": "global", "110-int800-fp800": "vector"}
"""Of a layer's key, both gradients needed and inputs kept: what the data call the choice and the code."""
SHAPES = "switchback-shapes-float16-*.json"


def names_known(name: str) -> set[str] | None:
    """What can be chosen there; None for an operation that is not."""
    operation, key = name.split("|")
    if operation == fragmented.OPERATION:
        *sizes, dtype, keep = key.split(",")
        rows, fragments, size, outputs, narrow = map(int, sizes)
        asked = Sizes(rows, fragments, size, outputs, narrow, getattr(torch, dtype), has_bias=False)
        return {*fragmented.candidates(asked, keep=keep == "kept")}
    if operation in (lora_ways.FORWARD, lora_ways.BACKWARD):
        return lora_names()
    if operation == SWITCHBACK:
        return {PLAIN, *(code for code in CODES if code in key)}
    known = {
        product.OPERATION: {product.TORCH, *TILES},
        few_rows.OPERATION: {"torch", *few_rows.TILES},
        few_rows_gradients.OPERATION: {"torch", *few_rows_gradients.TILES},
    }
    return known.get(operation)


def lora_names() -> set[str]:
    """Of all ways, whatever sizes allow them."""
    thin = (lora_ways.THIN_16, lora_ways.THIN_16_FEW, lora_ways.THIN_32)
    whole = (*lora_ways.WHOLE_16, *lora_ways.WHOLE_16_FEW, *lora_ways.WHOLE_32, *lora_ways.WHOLE_32_FEW)
    rows = (*lora_ways.ROWS_16, *lora_ways.ROWS_32)
    kinds = {
        "spread": thin,
        "thin": thin,
        "whole": whole,
        "once": whole,
        "rows": rows,
        "fused": lora_ways.FUSED,
    }
    return {"torch", "torch_spread"} | {f"{kind}{tile}" for kind, tiles in kinds.items() for tile in tiles}


def overruled(name: str, names: list[str], shapes: list[Row]) -> list[str]:
    """The choice for calls from Python, and the one for graphs: 16 bits where 8 were chosen and all timings
    of that shape together call them slower."""
    operation, key = name.split("|")
    eager, graph = names
    if operation != SWITCHBACK or graph == PLAIN:
        return names
    told = timings(key, graph, shapes)
    return [eager, PLAIN] if told and geometric_mean(told) < 1.0 else names


def timings(key: str, code: str, shapes: list[Row]) -> list[float]:
    """Speed-ups over 16 bits of this code at this layer's shape: named, and where it was chosen."""
    *sizes, dtype, needs = key.split(",")
    num_rows, outward, inward = map(int, sizes)
    if dtype != "float16" or needs not in AUTO:
        return []
    chosen_as, named = AUTO[needs], "fp8" if code == "fp8" else NAMED[needs]
    shape = [num_rows, inward, outward]
    found = [row for row in shapes if row.get("shape") == shape and "us" in row and is_the_devices(row)]
    chosen = [row["speed-up"][f"auto {chosen_as}"] for row in found if row["auto chose"][chosen_as] == code]
    return [*(row["speed-up"][named] for row in found), *chosen]


def shipped(made: dict[str, Any], shapes: list[Row]) -> dict[str, Any]:
    """The table, with what it was made for."""
    kept = {
        name: overruled(name, names, shapes)
        for name, names in sorted(made["choices"].items())
        if {*names} <= (names_known(name) or set())
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
    table = shipped(made, [*rows(SHAPES)])
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(names)}" for key, names in table["choices"].items())
    told = f'{{\n "made_for": {json.dumps(made_for)},\n "choices": {{\n{lines}\n }}\n}}\n'
    target.write_text(told)
    print(f"{len(table['choices'])} of {len(made['choices'])} choices")


if __name__ == "__main__":
    main([Path(given) for given in sys.argv[1:]])
