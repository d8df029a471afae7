"""Many cells of one suite in a single table: one row a variant, the axes as columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from stepmark.records.verdict import Reason
from stepmark.report import format as show
from stepmark.report.entries import main_entry
from stepmark.report.grid import Grid, Piece
from stepmark.report.ledger import Entry, Look, Titles, ledger
from stepmark.report.page import Page
from stepmark.report.view import CellView, RowView, SuiteView
from stepmark.report.wording import context, replications


def sweep_table(suite: SuiteView, *, reasons: Sequence[Reason], page: Page) -> list[Text]:
    """What all cells share stands in the heading, what varies in columns."""
    varying, first = suite.varying, suite.cells[0]
    rows = [row for cell in suite.cells for row in cell.rows]
    unit = show.shared_unit([row.primary.time.point for row in rows if row.primary])
    entries = [
        main_entry(row, keys=keys, group=group, brief=True)._replace(replications=replications(row))
        for cell in suite.cells
        for keys, group in [_keys(cell, varying)]
        for row in cell.rows
    ]
    look = Look(page=page, unit=unit, reasons=reasons)
    grid = _ledger(entries, rows, Titles(keys=varying, time=suite.primary), look)
    constant = [f"{name}={value}" for name, value in first.cell.axes if name not in varying]
    left = "  ".join((suite.name, *constant, show.plural(len(suite.cells), "cell")))
    return [*page.heading(left, context(first, without=varying)), *grid.lines(page)]


def _ledger(entries: list[Entry], rows: Sequence[RowView], titles: Titles, look: Look) -> Grid:
    """With the limits behind the verdicts, where they are known and the page is wide enough."""
    limits = [show.limit(row.limit) if row.limit else "" for row in rows]
    if any(limits):
        longer = [entry._replace(extras=(Piece(text),)) for entry, text in zip(entries, limits, strict=True)]
        wide = ledger(longer, titles._replace(extras=("of limit",)), look)
        if wide.width <= look.page.width:
            return wide
    return ledger(entries, titles, look)


def _keys(cell: CellView, varying: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """What sets the cell apart, as columns and as one text."""
    point, axes = dict(cell.point), {name for name, _ in cell.cell.axes}
    texts = (f"{name}={value}" if name in axes else value for name, value in point.items() if name in varying)
    return tuple(point.get(name, "") for name in varying), "  ".join(texts)
