"""SwitchBack's tables: whole layers over the published shapes, the product of codes, the quantisers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from benchmarks.h200.page_data import Row, geometric_mean, met, rows, span, times
from benchmarks.h200.switchback_product import SHORT
from stepmark.report.markdown_text import plain, table
from stepmark.zoo.kernels.int8 import TILES
from stepmark.zoo.kernels.switchback import PLAIN

MEAN, LARGE_MEAN, SLOWEST = 1.15, 1.40, 0.97
"""Of auto: over all shapes, over large ones, and of any shape."""
LARGE_ROWS, LARGE_SIDE = 32768, 2048
PRODUCTS: dict[tuple[int, ...], int] = {(8192, 8192, 8192): 1350, (65536, 16384, 4096): 1250}
LEAST = 1000.0
"""Microseconds of a call that hides the host's time for the next."""
SHARE = 0.70
"""Of a copy's bandwidth, for quantisers."""
SMALL = 32 << 20
"""Bytes of a matrix in 16 bits: reading less takes no longer than a few launches."""
WAYS = {
    "auto vector": "`auto`, int8 by row",
    "auto global": "`auto`, int8, one scale for the weight",
    "auto any": "`auto`, int8 or fp8",
    "vector": "int8 by row, always",
    "global": "int8, one scale, always",
    "memory": "int8, one scale, codes of x kept",
    "fp8": "fp8 by row, always",
    "vector cached": "int8 by row, the weight's codes kept",
}


AUTO = {"auto vector": "vector", "auto global": "global", "auto any": "any"}
NAMED = {"auto vector": "vector", "auto global": "global", "auto any": "vector"}
"""What the data call its choice, and the code in 8 bits that it may have chosen."""
SHAPES = {
    "float16": "switchback-shapes-float16-0of1.json",
    "bfloat16": "switchback-shapes-bfloat16-[0r]*.json",
}
"""In bfloat16 a run in random order that was stopped, and the rest on another day."""


def measured_shapes(dtype: str = "float16") -> list[Row]:
    return [row for row in rows(SHAPES[dtype]) if "us" in row]


def known_shapes(dtype: str) -> set[tuple[int, ...]]:
    return {tuple(row["shape"]) for row in measured_shapes(dtype)}


def is_large(row: Row) -> bool:
    return bool(row["shape"][0] >= LARGE_ROWS and min(row["shape"][1:]) >= LARGE_SIDE)


def is_the_devices(row: Row) -> bool:
    """Not in rows from before the timer said how it timed: from SHORT operations on it called from Python,
    and what is shorter than LEAST then is the host's time."""
    return "timed" in row or 6.0 * math.prod(row["shape"]) < SHORT or row["us"]["16-bit"] >= LEAST


def speeds(found: Sequence[Row], way: str) -> list[float]:
    return [speed(row, way) for row in found]


def speed(row: Row, way: str) -> float:
    """Over three products in 16 bits; where `auto` chose just these it is 1, whatever their second timing."""
    if way in AUTO and row["auto chose"][AUTO[way]] == PLAIN:
        return 1.0
    return float(row["speed-up"][way])


def timed_twice(found: Sequence[Row]) -> dict[str, list[float]]:
    """Two timings of the same code in the same rounds, one over the other: as named, and as chosen."""
    same = [(row, way) for row in found for way, name in AUTO.items() if row["auto chose"][name] == PLAIN]
    coded = [row for row in found if row["auto chose"]["vector"] != PLAIN]
    twice: dict[bool, list[float]] = {True: [], False: []}
    for row in coded:
        twice[is_the_devices(row)].append(row["us"]["auto vector"] / row["us"]["vector"])
    return {
        "three products in 16 bits": [row["us"][way] / row["us"]["16-bit"] for row, way in same],
        "int8 by row": twice[True],
        "int8 by row, called from Python in less than a millisecond": twice[False],
    }


def modules() -> str:
    """Whole layers with autograd, as a model calls them: from Python, and replayed as a graph."""
    names = ["nn.Linear", "auto", "auto any", "triton", "triton kept", "memory-efficient", "plain torch"]
    names.append("torchao compiled")
    lines = []
    for row in rows("switchback-peers.json"):
        for way in ("eager us", "graph us"):
            if row[way]:
                base = row[way]["nn.Linear"]
                there = [row[way].get(name) for name in names[1:]]
                speeds_there = ["" if us is None else times(base / us, 2) for us in there]
                lines.append([times_of(row["shape"]), way.removesuffix(" us"), f"{base:.0f}", *speeds_there])
    titles = ["rows x in x out", "", "nn.Linear, µs"]
    return table([*titles, *names[1:]], "llr" + "r" * (len(names) - 1), lines)


def times_of(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


def layers(dtype: str = "float16") -> str:
    found = measured_shapes(dtype)
    large = [row for row in found if is_large(row)]
    lines = []
    for way, name in WAYS.items():
        every, wide = speeds(found, way), speeds(large, way)
        mean, wide_mean = geometric_mean(every), geometric_mean(wide)
        is_asked = way.startswith("auto")
        lines.append(
            [
                name,
                times(mean, 3),
                met(mean, MEAN) if is_asked else "",
                times(min(every)),
                f"{sum(one < SLOWEST for one in every)}",
                met(min(every), SLOWEST) if is_asked else "",
                times(wide_mean, 3),
                f"{times(min(wide))}, {sum(one >= LARGE_MEAN for one in wide)} of {len(wide)}",
                met(min(wide), LARGE_MEAN) if is_asked else "",
            ]
        )
    titles = ["way", f"mean of {len(found)}", f"{MEAN}x asked", "slowest", f"below {SLOWEST}", "none asked"]
    wide_titles = [f"mean of {len(large)} large", f"least, and how many at {LARGE_MEAN:.2f}x", "all asked"]
    return table([*titles, *wide_titles], "lrlrrlrrl", lines)


def slow() -> str:
    """Shapes where one of the automatic ways was slower than may be; and what identical code showed."""
    lines = []
    for row in measured_shapes():
        for way in ("auto vector", "auto global", "auto any"):
            if speed(row, way) < SLOWEST:
                chose = row["auto chose"][AUTO[way]]
                named = row["us"]["fp8" if chose == "fp8" else NAMED[way]]
                cells = (row["us"]["16-bit"], row["us"][way], named)
                told = (*(f"{us:.0f}" for us in cells), times(speed(row, way)))
                timed = "the device's" if is_the_devices(row) else "the host's"
                lines.append([_shape(row["shape"]), way, chose, *told, timed])
    titles = [
        "rows x in x out",
        "way",
        "chose",
        "16-bit, µs",
        "this, µs",
        "the same, named, µs",
        "faster",
        "time",
    ]
    return f"{table(titles, 'lllrrrrl', lines)}\n\n{_identical(measured_shapes())}"


def _identical(found: list[Row]) -> str:
    told = []
    for name, ratios in timed_twice(found).items():
        if not ratios:
            continue
        outside = sum(not SLOWEST <= one <= 2 - SLOWEST for one in ratios)
        told.append(
            f"{name}: {len(ratios)} times, between {min(ratios):.2f} and {max(ratios):.2f}, median"
            f" {statistics.median(ratios):.3f}, {outside} of them beyond 3 %"
        )
    return f"The same code timed twice in the same rounds, one over the other: {'; '.join(told)}."


def large(dtype: str = "float16") -> str:
    lines = []
    for row in filter(is_large, measured_shapes(dtype)):
        found = row["speed-up"]["auto vector"]
        lines.append(
            [
                _shape(row["shape"]),
                f"{row['us']['16-bit'] / 1e3:.2f}",
                f"{row['us']['auto vector'] / 1e3:.2f}",
                times(found, 3),
                f"{LARGE_MEAN:.2f}x",
                met(found, LARGE_MEAN),
                times(row["speed-up"]["fp8"]),
                times(row["ceiling"]),
            ]
        )
    titles = ["rows x in x out", "16-bit, ms", "`auto`, ms", "faster", "asked", "", "fp8", "ceiling"]
    return table(titles, "lrrrrlrr", lines).replace(r"\`", "`")


def product_rates() -> dict[tuple[int, ...], Row]:
    """10^12 operations a second by rows, in and out."""
    found = (row for row in rows("switchback-product.json") if "fp16" in row)
    return {(row["m"], row["k"], row["n"]): row for row in found}


def chosen_rate(row: Row) -> int:
    """Of the best tile that layers choose from."""
    return max(int(rate) for name, rate in row.items() if name in TILES and rate)


def product() -> str:
    lines = []
    for shape, row in product_rates().items():
        tried = {name: rate for name, rate in row.items() if name.startswith("tile") and rate}
        ours = chosen_rate(row)
        asked = PRODUCTS.get(shape)
        best = max(tried, key=lambda one: tried[one])
        others = (row[name] for name in ("fp16", "int_mm", "fp8_fast"))
        told = [str(asked or ""), met(ours, asked) if asked else "", str(tried[best]), plain(best)]
        lines.append([_shape(shape), *map(str, others), str(ours), *told])
    titles = ["rows x in x out", "fp16", "torch._int_mm", "fp8", "int8, ours", "asked", ""]
    return table([*titles, "best tile tried", ""], "lrrrrrlrl", lines)


def quantisers() -> str:
    """By what is quantised; matrices of less than 32 MiB apart, whose calls are mostly their launch."""
    found = [row for row in rows("switchback-quantisers.json") if "shape" in row]
    kinds = {
        "rows": "rows, int8",
        "rows fp8": "rows, fp8",
        "back": "codes back to numbers",
        "weight vector": "weight both ways round, scales by row and column",
        "weight global": "weight both ways round, one scale",
        "weight turned": "weight turned, scales by column",
        "weight rows": "weight by row",
    }
    lines = []
    for kind, name in kinds.items():
        these = [row for row in found if row["what"] == kind]
        wide, narrow = (
            [row["of copy"] for row in these if (num_bytes(row) < SMALL) is small] for small in (False, True)
        )
        shares = (f"{span((100 * one for one in each), 0)} %" for each in (wide, narrow))
        lines.append([name, *shares, f"{100 * SHARE:.0f} %", met(min(wide), SHARE), met(min(narrow), SHARE)])
    titles = ["what", "of a copy, large", "of a copy, below 32 MiB", "asked", "large", "small"]
    return table(titles, "lrrrll", lines)


def num_bytes(row: Row) -> int:
    return 2 * math.prod(row["shape"])


def _shape(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))
