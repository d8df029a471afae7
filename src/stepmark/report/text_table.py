"""A table of texts below its headings: on a page, and as Markdown."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text

from stepmark.report.grid import Column, Piece, make_grid
from stepmark.report.markdown_text import plain, table
from stepmark.report.page import Page


class TextTable(NamedTuple):
    """What a table says, as text: the first row are its headings."""

    rows: tuple[tuple[str, ...], ...]
    sides: str
    """`l` or `r` for each column."""


def on_page(shown: TextTable, page: Page, *, folded: int | None = None) -> list[Text]:
    """Aligned columns below dim headings; the column at `folded` is broken over lines where it must be."""
    head, *rows = shown.rows
    columns = [Column(right=side == "r", fold=place == folded) for place, side in enumerate(shown.sides)]
    heading = [Piece(text, style="dim") for text in head]
    body = [[Piece(text) for text in row] for row in rows]
    return make_grid(columns, [heading, *body], page=page).lines(page)


def in_markdown(shown: TextTable) -> str:
    """Every cell as it is meant, whatever Markdown would make of it."""
    head, *rows = shown.rows
    return table(head, shown.sides, [[plain(text) for text in row] for row in rows])
