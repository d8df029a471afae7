"""One cell in full: the verdicts, and the phases beside them, below them or as a list."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from stepmark.records.verdict import Reason
from stepmark.report import format as show
from stepmark.report.entries import main_entry, phase_entries
from stepmark.report.grid import Grid
from stepmark.report.ledger import Look, Titles, ledger
from stepmark.report.page import Page
from stepmark.report.phase_columns import PhaseColumns, phase_columns, phase_grid
from stepmark.report.view import CellView
from stepmark.report.wording import cell_facts, context, title


def cell_table(cell: CellView, *, reasons: Sequence[Reason], page: Page, listed: bool = False) -> list[Text]:
    """Title and tables; `listed` gives every phase its own ratio and verdict."""
    unit = show.shared_unit([row.primary.time.point for row in cell.rows if row.primary])
    look = Look(page=page, unit=unit, reasons=reasons)
    tables = _listed(cell, look) if listed else _arranged(cell, look)
    lines = page.heading(title(cell), context(cell))
    for place, table in enumerate(tables):
        lines += [*([Text()] if place else []), *table.lines(page)]
    return [*lines, *page.paragraph(" · ".join(cell_facts(cell)), style="dim")]


def _arranged(cell: CellView, look: Look) -> list[Grid]:
    """As the width allows: phases beside the verdicts, below them, or one by one."""
    columns = phase_columns(cell, look.unit)
    wide = _main(cell, columns, look)
    if wide.width <= look.page.width or not cell.phases:
        return [wide]
    main, below = _main(cell, PhaseColumns(), look), phase_grid(cell, columns, look)
    if below.least_width > look.page.width:
        return _listed(cell, look)
    return _same_first_column(main, below, look.page)


def _listed(cell: CellView, look: Look) -> list[Grid]:
    main = _main(cell, PhaseColumns(), look)
    entries = phase_entries(cell)
    titles = Titles(keys=("variant",), label="phase")
    return [main, ledger(entries, titles, look)] if entries else [main]


def _main(cell: CellView, columns: PhaseColumns, look: Look) -> Grid:
    """The verdicts, with these columns behind them."""
    entries = [main_entry(row)._replace(extras=columns.row(n)) for n, row in enumerate(cell.rows)]
    return ledger(entries, Titles(time=cell.primary, extras=columns.names), look)


def _same_first_column(upper: Grid, lower: Grid, page: Page) -> list[Grid]:
    """Two tables below each other, with the names in columns of one width."""
    natural = max(upper.widths[0], lower.widths[0])
    grids = [grid._replace(widths=(natural, *grid.widths[1:])).folded(page) for grid in (upper, lower)]
    width = min(grid.widths[0] for grid in grids)
    return [grid._replace(widths=(width, *grid.widths[1:])) for grid in grids]
