"""Many cells of one suite in a single table: one row a variant, the axes as columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from stepmark.records.verdict import Reason
from stepmark.report import format as show
from stepmark.report.entries import main_entry
from stepmark.report.ledger import Look, Titles, ledger
from stepmark.report.page import Page
from stepmark.report.view import CellView, SuiteView
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
    titles = Titles(keys=varying, time=suite.primary)
    grid = ledger(entries, titles, Look(page=page, unit=unit, reasons=reasons))
    constant = [f"{name}={value}" for name, value in first.cell.axes if name not in varying]
    left = "  ".join((suite.name, *constant, show.plural(len(suite.cells), "cell")))
    return [*page.heading(left, context(first, without=varying)), *grid.lines(page)]


def _keys(cell: CellView, varying: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """What sets the cell apart, as columns and as one text."""
    point, axes = dict(cell.point), {name for name, _ in cell.cell.axes}
    texts = (f"{name}={value}" if name in axes else value for name, value in point.items() if name in varying)
    return tuple(point.get(name, "") for name in varying), "  ".join(texts)
