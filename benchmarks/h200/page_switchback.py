"""SwitchBack's tables: whole layers over the published shapes, the product of codes, the quantisers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from benchmarks.h200.page_data import Row, geometric_mean, met, rows, span, times
from stepmark.report.markdown_text import plain, table
from stepmark.zoo.kernels.int8 import TILES
from stepmark.zoo.kernels.switchback import PLAIN

MEAN, LARGE_MEAN, SLOWEST = 1.15, 1.40, 0.97
"""Of auto: over all shapes, over large ones, and of any shape."""
LARGE_ROWS, LARGE_SIDE = 32768, 2048
PRODUCTS: dict[tuple[int, ...], int] = {(8192, 8192, 8192): 1350, (65536, 16384, 4096): 1250}
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


GIVEN = {
    (1024, 1024, 4096): (0.26, 0.36), (1024, 4096, 1024): (0.47, 0.27), (8192, 1024, 4096): (0.87, 0.79),
    (8192, 4096, 1024): (0.84, 0.79), (65536, 1024, 4096): (1.07, 1.01), (65536, 4096, 1024): (1.02, 1.02),
    (1024, 4096, 16384): (0.61, 0.71), (1024, 16384, 4096): (0.60, 0.71), (8192, 4096, 16384): (1.08, 1.13),
    (8192, 16384, 4096): (1.09, 1.17), (65536, 4096, 16384): (1.31, 1.32), (65536, 16384, 4096): (1.30, 1.28),
    (1024, 1664, 6656): (0.45, 0.54), (1024, 6656, 1664): (0.34, 0.36), (8192, 1664, 6656): (0.97, 0.93),
    (8192, 6656, 1664): (0.93, 0.95), (65536, 1664, 6656): (1.15, 1.15), (65536, 6656, 1664): (1.09, 1.17),
}  # fmt: skip
"""Speed-ups over 16-bit products of bitsandbytes 0.45.5's kernels, by row and with one scale, on another H200
(2026-11-15, Triton 3.6, patched to compile), as they were given with the demands."""
PEERS = 1.4
"""Asked for: of the kernels of bitsandbytes, in the geometric mean."""


def measured_shapes() -> list[Row]:
    return [row for row in rows("switchback-shapes-float16-0of1.json") if "us" in row]


def by_way_of_plain() -> tuple[float, float]:
    """Ours over bitsandbytes' in the geometric mean, by row and with one scale, each over 16-bit products of
    its own day."""
    ours = {tuple(row["shape"]): row["speed-up"] for row in measured_shapes()}
    ratios = [
        (ours[shape]["auto vector"] / row, ours[shape]["auto global"] / whole)
        for shape, (row, whole) in GIVEN.items()
    ]
    by_row, by_one = zip(*ratios, strict=True)
    return geometric_mean(by_row), geometric_mean(by_one)


def side_by_side() -> dict[tuple[int, ...], tuple[float, float]]:
    """Ours over bitsandbytes' in one run, where there is one."""
    return {
        tuple(row["shape"]): (us["bnb rowwise"] / us["auto vector"], us["bnb global"] / us["auto global"])
        for row in rows("switchback-shapes-float16-1of7.json")
        if (us := row.get("us", {})).get("bnb rowwise")
    }


def is_large(row: Row) -> bool:
    return bool(row["shape"][0] >= LARGE_ROWS and min(row["shape"][1:]) >= LARGE_SIDE)


def speeds(found: Sequence[Row], way: str) -> list[float]:
    return [row["speed-up"][way] for row in found]


def same_code(found: Sequence[Row]) -> list[float]:
    """Speed-ups of `auto` where it chose 16 bits: the same three products, timed twice."""
    pairs = [(row, way) for row in found for way in ("vector", "global")]
    return [row["speed-up"][f"auto {way}"] for row, way in pairs if row["auto chose"][way] == PLAIN]


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


def layers() -> str:
    found = measured_shapes()
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
            if row["speed-up"][way] < SLOWEST:
                chose = row["auto chose"].get(way.split()[1], "not recorded")
                cells = (row["us"]["16-bit"], row["us"][way])
                told = (*(f"{us:.0f}" for us in cells), times(row["speed-up"][way]))
                lines.append([_shape(row["shape"]), way, chose, *told])
    titles = ["rows x in x out", "way", "chose", "16-bit, µs", "this, µs", "faster"]
    return f"{table(titles, 'lllrrr', lines)}\n\n{_identical(measured_shapes())}"


def _identical(found: list[Row]) -> str:
    same = same_code(found)
    outside = sum(not SLOWEST <= one <= 2 - SLOWEST for one in same)
    own = [row["speed-up"]["auto vector"] for row in found if row["auto chose"]["vector"] != PLAIN]
    mean = geometric_mean([*own, *([1.0] * (len(found) - len(own)))])
    return (
        f"Identical code: in {len(same)} comparisons `auto` had chosen 16 bits, so that the same three"
        f" products were timed twice. Their ratios lie between {min(same):.2f} and {max(same):.2f}, median"
        f" {statistics.median(same):.3f}; {outside} of {len(same)} differ from 1 by more than 3 %. Counted as"
        f" exactly 1 they leave a mean of {mean:.3f} for int8 by row."
    )


def large() -> str:
    lines = []
    for row in filter(is_large, measured_shapes()):
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
