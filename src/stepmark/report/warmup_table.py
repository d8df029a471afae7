"""A warm-up study on a terminal: first iterations, what dropping some changes, the chart, and the causes."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from stepmark.report.grid import Column, Piece, make_grid
from stepmark.report.page import Page, line
from stepmark.report.sheet import Sheet
from stepmark.report.warmup_chart import chart
from stepmark.report.warmup_view import TextTable, WarmupView

CHART_WIDTH = 80


def warmup_sheet(view: WarmupView) -> Sheet:
    """A rich renderable, as wide as the console."""
    return Sheet(lambda page: _lay_out(view, page))


def _lay_out(view: WarmupView, page: Page) -> list[Text]:
    drawn = chart(view.curve, width=min(page.width, CHART_WIDTH), ascii_only=page.ascii_only)
    lines = [
        *_title(view, page),
        page.rule(),
        *_table(view.firsts, page),
        line(),
        *_table(view.dropped, page),
        *page.paragraph(view.automatic, hanging="  "),
        line(),
        *page.paragraph(view.curve_title, style="dim"),
        *(line((page.show(row) if page.ascii_only else row.replace("\u00a0", " "), "")) for row in drawn),
        line(),
        *page.paragraph(view.slow_start, hanging="  "),
    ]
    if view.causes is not None:
        lines += _table(view.causes, page, folded=2)
    for failure in view.failures:
        lines += page.paragraph(failure, style="red", hanging="  ")
    return [*lines, line(), *page.facts(view.facts, style="dim")]


def _title(view: WarmupView, page: Page) -> list[Text]:
    title, context = page.show(view.title), page.show(" · ".join(view.context))
    gap = page.width - cell_len(title) - cell_len(context)
    if gap < 2:
        return [line((title, "bold")), line((context, "dim"))]
    return [line((title, "bold"), (" " * gap, ""), (context, "dim"))]


def _table(table: TextTable, page: Page, *, folded: int | None = None) -> list[Text]:
    head, *rows = table.rows
    columns = [Column(right=side == "r", fold=place == folded) for place, side in enumerate(table.sides)]
    heading = [Piece(text, style="dim") for text in head]
    return make_grid(columns, [heading, *([Piece(text) for text in row] for row in rows)], page=page).lines(
        page
    )
