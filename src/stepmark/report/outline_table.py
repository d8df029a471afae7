"""The list of what can be run: built-in suites, then bench files, each as `stepmark run` takes it."""

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

    target: str
    """What is typed: the name of a suite, or a path."""
    suites: tuple[str, ...] = ()
    """In a file."""
    about: str = ""
    """One line on what it measures."""


def outline_table(builtin: Sequence[OutlineRow], files: Sequence[OutlineRow]) -> Sheet:
    """Two lists, each in the order given."""
    return Sheet(lambda page: _lines(builtin, files, page))


def _lines(builtin: Sequence[OutlineRow], files: Sequence[OutlineRow], page: Page) -> list[Text]:
    if not (builtin or files):
        return page.paragraph("nothing to run here: no built-in suite, and no bench_*.py file")
    blocks = [_block(title, rows, page) for title, rows in (("suite", builtin), ("file", files)) if rows]
    return [line for block in blocks for line in (*block, Text())][:-1]


def _block(title: str, rows: Sequence[OutlineRow], page: Page) -> list[Text]:
    heading = [Piece(title, HEADING), Piece("about", HEADING)]
    pieces = [[Piece(row.target), Piece(_about(row))] for row in rows]
    return make_grid([Column(fold=True), Column(fold=True)], [heading, *pieces], page=page).lines(page)


def _about(row: OutlineRow) -> str:
    """A file's suites, and what it says of itself."""
    return ": ".join(part for part in (", ".join(row.suites), row.about) if part) or "?"
