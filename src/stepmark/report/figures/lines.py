"""Lines of a figure: the cases of a suite below each other, with a heading for each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stepmark.report import format as show
from stepmark.report.figures.lettering import BOLD, one_line, width_of
from stepmark.report.view import CellView, RowView, SuiteView
from stepmark.report.wording import NOT_REACHED, end

HEIGHT = 20
"""Pixels of a line."""
INDENT = 12


class Line(NamedTuple):
    """One line; a heading has no row."""

    place: int
    text: str
    cell: CellView
    row: RowView | None = None
    point: str = ""
    """What sets its cell apart."""

    @property
    def is_heading(self) -> bool:
        return self.row is None


def contenders(suite: SuiteView) -> list[Line]:
    """Everything that is compared with a baseline; the headings say with which, and how long that takes."""
    return _lines(suite, baselines=False)


def everyone(suite: SuiteView) -> list[Line]:
    """Every case, baselines too."""
    return _lines(suite, baselines=True)


def _lines(suite: SuiteView, *, baselines: bool) -> list[Line]:
    shown = [(cell, [row for row in cell.rows if baselines or not row.baseline]) for cell in suite.cells]
    shown = [(cell, rows) for cell, rows in shown if rows]
    names = {row.variant for _, rows in shown for row in rows}
    varying = suite.varying
    texts: list[tuple[str, CellView, RowView | None, str]] = []
    for cell, rows in shown:
        point = point_of(cell, varying)
        if len(names) == 1 and all(len(each) == 1 for _, each in shown) and len(shown) > 1:
            texts.append((point, cell, rows[0], point))
            continue
        against = "" if baselines else baseline_of(cell)
        heading = " · ".join(part for part in (point, against) if part)
        if heading:
            texts.append((heading, cell, None, point))
        texts += [(row.variant, cell, row, point) for row in rows]
    return [
        Line(place, one_line(text), cell, row, point) for place, (text, cell, row, point) in enumerate(texts)
    ]


def point_of(cell: CellView, varying: Sequence[str]) -> str:
    """What sets a cell apart, by the names of what varies: `features=512, bfloat16`."""
    axes = {name for name, _ in cell.cell.axes}
    return one_line(
        ", ".join(
            f"{name}={value}" if name in axes else value for name, value in cell.point if name in varying
        )
    )


def baseline_of(cell: CellView) -> str:
    """`against dense, 328 µs`."""
    row = next((row for row in cell.rows if row.baseline), None)
    if row is None:
        return "the baseline was not measured"
    return f"against {row.variant}, {show.seconds(row.primary.time) if row.primary else ending(row)}"


def ending(row: RowView) -> str:
    """Why a case has no numbers: `out-of-memory in build`."""
    return end(row.failure) if row.failure else NOT_REACHED


def label_width(lines: Sequence[Line], *, most: float) -> float:
    """Of the column of labels."""
    widths = [width_of(line.text) * (BOLD if line.is_heading else 1.0) + INDENT for line in lines]
    return min(most, max(widths, default=0.0) + 8.0)
