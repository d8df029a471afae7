"""FragmentedLinear's tables: what was asked for, all published cells, large batches, training steps.

Floor. The bytes that must be moved, by the rate of a copy; with many rows, the operations by the rate of a
product if that takes longer. Evaluation: each chosen fragment of the weight, both narrow matrices, the
selector, x and y, once. A training step of a dense layer with Adam: the weight is read (4 bytes a parameter),
its gradient written (4), and Adam reads parameter, gradient and two moments and writes three (28). A
fragmented layer has c (n + o) parameters more and reads all of them once more for the selector's gradient.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.h200.page_data import Row, copy_rate, matrix_rate, met, rows, span, times
from stepmark.report.markdown_text import table

Cell = tuple[int, int, int]
"""Features, rows, fragments."""

GRAPH_TARGETS: dict[Cell, float] = {
    (8192, 1, 128): 13.0,
    (8192, 1, 32): 9.0,
    (8192, 8, 128): 8.0,
    (8192, 16, 128): 6.0,
    (4096, 1, 128): 6.0,
    (2048, 1, 128): 1.5,
}
"""Speed-ups over nn.Linear that were asked for, replayed as graphs."""
EAGER_TARGETS: dict[Cell, float] = {
    (8192, 1, 128): 5.0,
    (8192, 1, 32): 5.0,
    (8192, 8, 128): 5.5,
    (8192, 16, 128): 4.5,
    (4096, 1, 128): 2.0,
}
SLOWEST, SLOWEST_WORTH = 1.25, 1.05
"""nn.Linear's time times this, at most: anywhere, and where theory promises WORTH."""
WORTH = 1.1
LARGE = 3.0
MOST_TIME, MOST_MEMORY = 1.15, 1.07
"""Of a training step, in nn.Linear's."""
DENSE_STEP, EXTRA_READ = 36, 4
"""Bytes a parameter."""
NARROW = 32
"""Features a narrow one."""
ITEMS = {"float32": 4, "bfloat16": 2}
INSIDE = "fragmented_inside.json"
FEW = 16
"""Rows with which the bytes of weights decide how long a step takes."""
PASSES = {"sorted": 3}
MOST_PASSES = 5
"""Over rows by features, as built for many rows: sorted, x for the choice, x for the narrow features, y;
else x for the choice, its rest written and read for the narrow features, x for the fragments, y."""
MANY = "fragmented_large*.json"
PRODUCTS = "fragmented_tilings_products.json"
CELLS = "fragmented_cells*.json"
LAUNCHES = {"rows": 2, "tiles": 3, "singles": 3, "inline": 2, "products": 2}
"""Of a plan: narrow features and scores, the choice (with one row, or inline, it is inside the last), the
fragments; or all products beside the narrow features, and what was chosen of them."""


def cell_of(row: Row) -> Cell:
    return row["n"], row["rows"], row["fragments"]


def cells(dtype: str) -> dict[Cell, Row]:
    """Of each the newest."""
    return {cell_of(row): row for row in rows(CELLS, dtype=dtype)}


def floor(row: Row, *, passes: int = 2) -> float:
    """Microseconds of a call, at the least; x and y are passed over so many times."""
    n, batch, fragments = cell_of(row)
    narrow, share = n // NARROW, row["chosen"] / fragments
    numbers = share * n * n + 2 * n * narrow + n + passes * batch * n
    moved = numbers * ITEMS[row["dtype"]] / copy_rate()
    work = 2 * batch * n * (n // fragments + 2 * narrow)
    return 1e6 * float(max(moved, work / matrix_rate(row["dtype"])))


def is_fast_enough(row: Row) -> bool:
    """Not slower than nn.Linear by more than a cell may be."""
    allowed = SLOWEST_WORTH if row["theory"] >= WORTH else SLOWEST
    return bool(row["graph"]["fragmented"] <= allowed * row["graph"]["linear"])


def targets() -> str:
    lines = []
    for dtype in ITEMS:
        for regime, wanted in (("graph", GRAPH_TARGETS), ("eager", EAGER_TARGETS)):
            for cell, asked in wanted.items():
                row = cells(dtype)[cell]
                found = row[f"{regime}_ratio"]
                linear, ours = (row[regime][name] for name in ("linear", "fragmented"))
                launches = LAUNCHES[row["plan"][regime == "graph"].split("-")[0]]
                lines.append(
                    [
                        f"{dtype}, {regime}",
                        *map(str, cell),
                        f"{linear:.1f}",
                        f"{ours:.1f}",
                        times(found),
                        f"{asked:g}x",
                        met(found, asked),
                        f"{floor(row):.1f}",
                        str(launches),
                    ]
                )
    titles = ["", "n", "rows", "fragments", "nn.Linear, µs", "ours, µs", "faster", "asked", "", "floor, µs"]
    return table([*titles, "launches"], "lrrrrrrrlrr", lines)


def published() -> str:
    """A line for n and rows; a column for the fragments."""
    lines = []
    for dtype in ITEMS:
        found = cells(dtype)
        for n, batch in dict.fromkeys(cell[:2] for cell in found):
            line = [row for cell, row in found.items() if cell[:2] == (n, batch)]
            marks = ("" if is_fast_enough(row) else " ✗" for row in line)
            told = (f"{row['graph_ratio']:.2f} ({row['theory']:.1f})" for row in line)
            linear = span((row["graph"]["linear"] for row in line), 1)
            lines.append([dtype, str(n), str(batch), linear, *map("".join, zip(told, marks, strict=True))])
    numbers = [f"{fragments} fragments" for fragments in (2, 8, 32, 128)]
    return table(["dtype", "n", "rows", "nn.Linear, µs", *numbers], "lrrrrrrr", lines)


def large() -> str:
    lines = []
    for row in rows(MANY):
        n, batch, fragments = cell_of(row)
        found, is_asked = row["graph_ratio"], batch >= 2048
        lines.append(
            [
                row["dtype"],
                *map(str, (n, batch, fragments)),
                f"{row['graph']['linear']:.0f}",
                f"{row['graph']['fragmented']:.0f}",
                f"{floor(row):.0f}",
                f"{floor(row, passes=passes_of(row)):.0f}",
                times(found),
                times(row["eager_ratio"]),
                f"{LARGE:g}x" if is_asked else "",
                met(found, LARGE) if is_asked else "",
            ]
        )
    titles = ["dtype", "n", "rows", "fragments", "nn.Linear, µs", "ours, µs", "floor, µs", "as built, µs"]
    return table([*titles, "faster, graph", "eager", "asked", ""], "lrrrrrrrrrrl", lines)


def passes_of(row: Row) -> int:
    """Of the plan that graphs choose."""
    return PASSES.get(row["plan"][1].split("-")[0], MOST_PASSES)


def few_rows() -> str:
    """Rows times a square matrix in float32, as it lies and turned, by torch and by the fastest tile."""
    lines = []
    for row in rows(PRODUCTS):
        tiles = {name: us for name, us in row["graph"].items() if name != "torch" and us}
        best = min(tiles, key=lambda name: tiles[name])
        read = 1e6 * 4 * row["n"] ** 2 / copy_rate()
        lines.append(
            [
                str(row["n"]),
                str(row["rows"]),
                "turned" if row["turned"] else "straight",
                f"{row['graph']['torch']:.0f}",
                f"{tiles[best]:.0f}",
                best.removeprefix("tile"),
                f"{read:.0f}",
                f"{row['errors']['torch']:.1e}",
                f"{row['errors'][best]:.1e}",
            ]
        )
    titles = [
        "n",
        "rows",
        "matrix",
        "torch, µs",
        "ours, µs",
        "tile",
        "read once, µs",
        "torch, error",
        "ours, error",
    ]
    return table(titles, "rrlrrlrrr", lines)


def step_floor(row: Row) -> tuple[float, float]:
    """Bytes of nn.Linear's step and of ours, as microseconds of a copy; weights, not rows, are counted."""
    n, item = row["n"], ITEMS[row["dtype"]] / 4
    dense = n * n * item * 1e6 / copy_rate()
    own = 1 + 2 / NARROW
    return DENSE_STEP * dense, own * (DENSE_STEP + EXTRA_READ) * dense


def trained() -> Iterator[tuple[Row, float]]:
    """Steps of few rows, where bytes of weights decide, with the ratio that bytes allow."""
    for row in rows("fragmented_train.json"):
        dense, ours = step_floor(row)
        yield row, ours / dense


def inside() -> str:
    """Steps of a layer whose input wants a gradient: nn.Linear then reads its weight twice, as ours does."""
    lines = []
    for row in rows(INSIDE):
        ratios = row["ratios"]
        by_bytes = times(1 + 2 / NARROW) if row["rows"] <= FEW else ""
        lines.append(
            [
                row["dtype"],
                *(str(row[name]) for name in ("n", "rows", "fragments")),
                f"{row['graph']['linear']:.0f}",
                f"{row['graph']['fragmented']:.0f}",
                times(ratios["graph"]),
                by_bytes,
                "yes" if ratios["graph"] <= MOST_TIME else "no",
                times(ratios["eager"]),
            ]
        )
    titles = ["dtype", "n", "rows", "fragments", "nn.Linear, µs", "ours, µs", "graph", "by bytes"]
    return table([*titles, f"at most {MOST_TIME}x", "eager"], "lrrrrrrrlr", lines)


def train() -> str:
    lines = []
    for row, allowed in trained():
        ratios, few = row["ratios"], row["rows"] <= FEW
        is_asked = row["n"] >= 4096
        lines.append(
            [
                row["dtype"],
                *map(str, cell_of(row)),
                f"{row['graph']['linear']:.0f}",
                f"{row['graph']['fragmented']:.0f}",
                times(ratios["graph"]),
                times(allowed) if few else "",
                met(ratios["graph"], MOST_TIME, most=True) if is_asked else "not asked",
                times(ratios["eager"]),
                times(ratios["memory"], 3),
                met(ratios["memory"], MOST_MEMORY, most=True) if is_asked else "not asked",
            ]
        )
    titles = ["dtype", "n", "rows", "fragments", "nn.Linear, µs", "ours, µs", "graph", "by bytes"]
    return table(
        [*titles, f"{MOST_TIME}x asked", "eager", "peak memory", f"{MOST_MEMORY}x asked"],
        "lrrrrrrrlrrl",
        lines,
    )
