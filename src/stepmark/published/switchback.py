"""The rows of the published SwitchBack result, its totals made again from their parts, and its speed-ups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import fmean, median

from stepmark.interchange.switchback_jsonl import OPERATIONS, TOTALS, Row, SwitchbackLines
from stepmark.published.cell import PublishedCell
from stepmark.records.case import Mode
from stepmark.records.record import Record

SUITE = "switchback"
QUANTISERS = {
    "rowwise": (
        "x_quantize_rowwise",
        "g_quantize_rowwise",
        "w_quantize_rowwise",
        "w_quantize_colwise_transpose",
    ),
    "global": (
        "x_quantize_rowwise",
        "g_quantize_rowwise",
        "w_quantize_global",
        "w_quantize_global_transpose",
    ),
}


def narrow(row: Row) -> int:
    """The side that the file's axis `dim` means; the other one is `wm` times as wide."""
    return row.dim_out if row.switch else row.dim_in


def milliseconds(row: Row, key: str) -> float:
    """A time of a row that has it; NaN stands for null."""
    value = getattr(row, key)
    return float("nan") if value is None else float(value)


def cells(document: SwitchbackLines) -> Iterator[PublishedCell]:
    """142 rows, each with all its operations and totals."""
    for row in document.rows:
        axes = (
            ("dim", narrow(row)),
            ("wm", row.wm),
            ("rows", row.batch_size),
            ("switch", row.switch),
        )
        yield PublishedCell(
            publication="switchback",
            row=f"batch_size={row.batch_size}, dim_out={row.dim_out}, dim_in={row.dim_in}",
            suite=SUITE,
            variant=None,
            axes=axes,
            mode=Mode.OPS,
            seconds=tuple((key, milliseconds(row, key) / 1e3) for key in (*OPERATIONS, *TOTALS)),
        )


class Recomposed(Record, frozen=True, kw_only=True):
    """A total beside the sum of its parts, over all rows."""

    total: str
    parts: tuple[str, ...]
    num_rows: int
    largest_error: float
    """Of the total, relative."""


def recomposed(document: SwitchbackLines) -> tuple[Recomposed, ...]:
    """The three totals are sums of operations that were timed one by one."""
    return tuple(
        Recomposed(
            total=total,
            parts=parts,
            num_rows=len(document.rows),
            largest_error=max(_error(row, total, parts) for row in document.rows),
        )
        for total, parts in TOTALS.items()
    )


def _error(row: Row, total: str, parts: Iterable[str]) -> float:
    whole = milliseconds(row, total)
    return abs(sum(milliseconds(row, part) for part in parts) - whole) / whole


def speedup(row: Row, kind: str) -> float:
    """Standard time over the time of `rowwise` or `global`: above 1 int8 wins."""
    return milliseconds(row, "time_standard") / milliseconds(row, f"time_{kind}")


def median_speedup(rows: Iterable[Row], kind: str) -> float:
    return median(speedup(row, kind) for row in rows)


def quantised_share(rows: Iterable[Row], kind: str) -> float:
    """How much of a total is spent on quantising, the mean over the rows."""
    return fmean(
        sum(milliseconds(row, key) for key in QUANTISERS[kind]) / milliseconds(row, f"time_{kind}")
        for row in rows
    )
