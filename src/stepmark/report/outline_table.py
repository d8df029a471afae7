"""The list of what can be run: built-in suites and bench files."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from stepmark.records.record import Record
from stepmark.report.grid import Column, Piece, make_grid
from stepmark.report.ledger import HEADING
from stepmark.report.page import Page
from stepmark.report.sheet import Sheet


class OutlineRow(Record, frozen=True, kw_only=True):
    """Something `stepmark run` accepts."""

    name: str
    """Of the suite, or of the suites in a file."""
    kind: str
    """`built-in` or `file`."""
    where: str = ""
    """Where it is defined."""
    about: str = ""
    """One line on what it measures."""


def outline_table(rows: Sequence[OutlineRow]) -> Sheet:
    """The rows in the order given; columns that are empty throughout are left out."""
    return Sheet(lambda page: _lines(rows, page))


def _lines(rows: Sequence[OutlineRow], page: Page) -> list[Text]:
    if not rows:
        return page.paragraph("nothing to run here: no built-in suite, and no bench_*.py file")
    columns = {
        "name": [row.name for row in rows],
        "kind": [row.kind for row in rows],
        "where": [row.where for row in rows],
        "about": [row.about for row in rows],
    }
    filled = {title: texts for title, texts in columns.items() if any(texts)}
    heading = [Piece(title, HEADING) for title in filled]
    pieces = [[Piece(texts[n]) for texts in filled.values()] for n in range(len(rows))]
    styles = [Column(fold=title != "kind") for title in filled]
    return make_grid(styles, [heading, *pieces], page=page).lines(page)
