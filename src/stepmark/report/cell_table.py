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
from stepmark.report.phase_columns import PhaseColumns, other_columns, phase_columns, phase_grid
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
    """As the width allows: everything beside the verdicts, phases below them, or one by one."""
    width = look.page.width
    phases, others = phase_columns(cell, look.unit), other_columns(cell)
    everything = phases.and_then(others)
    wide = _main(cell, everything, look)
    if wide.width <= width or not everything.names or (not phases.names and wide.least_width <= width):
        return [wide]
    bare, below = _main(cell, PhaseColumns(), look), phase_grid(cell, phases, look)
    first = "phases" if phases.names else "variant"
    together, beside = phase_grid(cell, everything, look, title=first), _main(cell, others, look)
    if together.least_width <= width:
        return _same_first_column([bare, together], look.page)
    if phases.names and below.least_width <= width:
        if beside.width <= width:
            return _same_first_column([beside, below], look.page)
        rest = phase_grid(cell, others, look, title="variant")
        return _same_first_column([bare, below, rest], look.page)
    return _listed(cell, look)


def _listed(cell: CellView, look: Look) -> list[Grid]:
    main = _main(cell, PhaseColumns(), look)
    if any(row.limit for row in cell.rows):
        with_limits = _main(cell, other_columns(cell), look)
        main = with_limits if with_limits.width <= look.page.width else main
    entries = phase_entries(cell)
    titles = Titles(keys=("variant",), label="phase")
    return [main, ledger(entries, titles, look)] if entries else [main]


def _main(cell: CellView, columns: PhaseColumns, look: Look) -> Grid:
    """The verdicts, with these columns behind them."""
    entries = [main_entry(row)._replace(extras=columns.row(n)) for n, row in enumerate(cell.rows)]
    return ledger(entries, Titles(time=cell.primary, extras=columns.names), look)


def _same_first_column(grids: list[Grid], page: Page) -> list[Grid]:
    """Tables below each other, with the names in columns of one width."""
    natural = max(grid.widths[0] for grid in grids)
    folded = [grid._replace(widths=(natural, *grid.widths[1:])).folded(page) for grid in grids]
    width = min(grid.widths[0] for grid in folded)
    return [grid._replace(widths=(width, *grid.widths[1:])) for grid in folded]
