"""The published SwitchBack result as tables: speed-ups by shape, totals made again, slow baselines."""

from __future__ import annotations

from collections.abc import Iterator

from stepmark.interchange.switchback_jsonl import Row, SwitchbackLines
from stepmark.published.slow_baseline import slow_baselines
from stepmark.published.switchback import median_speedup, narrow, quantised_share, recomposed, speedup
from stepmark.report.shown_table import ShownTable

MARK = "*"
Shape = tuple[int, float, bool]


def tables(document: SwitchbackLines) -> tuple[ShownTable, ...]:
    return (
        _speedups(document, "global"),
        _speedups(document, "rowwise"),
        _by_rows(document),
        _slow(document),
        _totals(document),
    )


def _speedups(document: SwitchbackLines, kind: str) -> ShownTable:
    found = {(_shape(row), row.batch_size): row for row in document.rows}
    shapes = sorted({shape for shape, _ in found})
    sizes = sorted({rows for _, rows in found})
    slow = {((each.dim, each.wm, each.switch), each.rows) for each in slow_baselines(document)}
    rows = tuple(
        (
            *_shape_texts(shape),
            *(_speedup(found.get((shape, size)), kind, marked=(shape, size) in slow) for size in sizes),
        )
        for shape in shapes
    )
    return ShownTable(
        title=f"Speed-up of {kind} over 16 bit (above 1 int8 wins), by number of rows",
        head=("dim", "wm", "switch", *map(str, sizes)),
        rows=rows,
        sides="rrl" + "r" * len(sizes),
        note=f"{MARK} a slow baseline, see below",
    )


def _shape(row: Row) -> Shape:
    return narrow(row), float(row.wm), row.switch


def _shape_texts(shape: Shape) -> tuple[str, str, str]:
    dim, wm, switch = shape
    return str(dim), f"{wm:g}", "yes" if switch else "no"


def _speedup(row: Row | None, kind: str, *, marked: bool) -> str:
    if row is None:
        return "-"
    return f"{speedup(row, kind):.2f}{MARK if marked else ''}"


def _by_rows(document: SwitchbackLines) -> ShownTable:
    return ShownTable(
        title="Over shapes: median speed-up, and mean share of the total spent on quantising",
        groups=(("", 1), ("speed-up", 2), ("quantising", 2)),
        head=("rows", *("rowwise", "global") * 2),
        rows=tuple(_median_rows(document)),
        sides="rrrrr",
    )


def _median_rows(document: SwitchbackLines) -> Iterator[tuple[str, ...]]:
    sizes = sorted({row.batch_size for row in document.rows})
    groups = [(str(size), [row for row in document.rows if row.batch_size == size]) for size in sizes]
    for name, rows in (*groups, ("all", list(document.rows))):
        yield (
            name,
            *(f"{median_speedup(rows, kind):.3f}" for kind in ("rowwise", "global")),
            *(f"{100 * quantised_share(rows, kind):.0f} %" for kind in ("rowwise", "global")),
        )


def _slow(document: SwitchbackLines) -> ShownTable:
    rows = tuple(
        (
            *_shape_texts((each.dim, each.wm, each.switch)),
            str(each.rows),
            each.product,
            f"{each.rate / 1e12:.0f}",
            " ".join(f"{rate / 1e12:.0f}" for rate in each.neighbours),
            f"{each.global_:.2f}",
            f"{each.global_corrected:.2f}",
        )
        for each in slow_baselines(document)
    )
    return ShownTable(
        title="Slow baselines: 16-bit products far below those of the next smaller and larger shape",
        groups=(("", 5), ("TFLOP/s", 2), ("global speed-up", 2)),
        head=("dim", "wm", "switch", "rows", "product", "here", "next", "published", "corrected"),
        rows=rows,
        sides="rrlrlrrrr",
        note="corrected: with the product at the mean rate of its neighbours",
    )


def _totals(document: SwitchbackLines) -> ShownTable:
    return ShownTable(
        title="Totals made again from their parts",
        head=("total", "rows", "largest error", "parts"),
        rows=tuple(
            (each.total, str(each.num_rows), f"{each.largest_error:.1g}", " + ".join(each.parts))
            for each in recomposed(document)
        ),
        sides="lrrf",
    )
