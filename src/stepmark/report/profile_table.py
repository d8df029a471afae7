"""A profile on a terminal: phases, gaps, operations, memory over time, and what profiling cost."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from stepmark.report.format import NBSP
from stepmark.report.grid import Column, Piece, make_grid
from stepmark.report.page import Page, line
from stepmark.report.profile_chart import memory_chart
from stepmark.report.profile_view import ProfileView
from stepmark.report.sheet import Sheet
from stepmark.report.warmup_view import TextTable

CHART_WIDTH = 80


def profile_sheet(view: ProfileView) -> Sheet:
    """A rich renderable, as wide as the console."""
    return Sheet(lambda page: _lay_out(view, page))


def _lay_out(view: ProfileView, page: Page) -> list[Text]:
    lines = [*_title(view, page), page.rule(), *table_lines(view.phases, page), line()]
    lines += [*table_lines(view.idle, page), line()]
    for operations in view.operations:
        lines += page.paragraph(operations.title, style="dim")
        lines += [*table_lines(operations.table, page, folded=0), line()]
    lines += [*page.paragraph(view.products, style="dim"), line(), *_memory(view, page), line()]
    if view.cost is not None:
        lines += [*page.paragraph(view.cost_title, style="dim"), *table_lines(view.cost, page), line()]
    if view.nsight:
        said, *commands = view.nsight
        lines += [*page.paragraph(said, style="dim"), *(line((command, "")) for command in commands), line()]
    for failure in view.failures:
        lines += page.paragraph(failure, style="red", hanging="  ")
    return [*lines, *page.facts(view.facts, style="dim")]


def _title(view: ProfileView, page: Page) -> list[Text]:
    title, context = page.show(view.title), page.show(" · ".join(view.context))
    gap = page.width - cell_len(title) - cell_len(context)
    if gap < 2:
        return [line((title, "bold")), line((context, "dim"))]
    return [line((title, "bold"), (" " * gap, ""), (context, "dim"))]


def _memory(view: ProfileView, page: Page) -> list[Text]:
    drawn = memory_chart(view.memory, width=min(page.width, CHART_WIDTH), ascii_only=page.ascii_only)
    return [
        *page.paragraph(view.memory_title, style="dim"),
        *(line((page.show(row) if page.ascii_only else row.replace(NBSP, " "), "")) for row in drawn),
        *page.paragraph(view.peak, hanging="  "),
    ]


def table_lines(table: TextTable, page: Page, *, folded: int | None = None) -> list[Text]:
    """Aligned columns below dim headings; the column at `folded` is broken over lines where it must be."""
    head, *rows = table.rows
    columns = [Column(right=side == "r", fold=place == folded) for place, side in enumerate(table.sides)]
    heading = [Piece(text, style="dim") for text in head]
    return make_grid(columns, [heading, *([Piece(text) for text in row] for row in rows)], page=page).lines(
        page
    )
