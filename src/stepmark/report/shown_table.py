"""A table of texts with a title above and a note below, laid out on a page."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text

from stepmark.report.grid import Column, Piece, make_grid
from stepmark.report.ledger import HEADING
from stepmark.report.page import Page, line


class ShownTable(NamedTuple):
    """What a table says, as text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    sides: str
    """A letter a column: `l` left, `r` right, `f` left and folded where the page is narrow."""
    groups: tuple[tuple[str, int], ...] = ()
    """Headings over several columns: text and how many."""
    note: str = ""


def table_lines(table: ShownTable, page: Page) -> list[Text]:
    """Title, headings, rows and note."""
    columns = [Column(right=side == "r", fold=side == "f") for side in table.sides]
    rows = [[Piece(text, HEADING) for text in table.head], *([*map(Piece, row)] for row in table.rows)]
    if table.groups:
        rows.insert(0, [Piece(text, HEADING, span=span) for text, span in table.groups])
    lines = [*page.paragraph(table.title, style="bold"), *make_grid(columns, rows, page=page).lines(page)]
    if table.note:
        lines += page.paragraph(table.note, style="dim")
    return [*lines, line()]
