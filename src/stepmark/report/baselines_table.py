"""The list of baselines: names with the runs they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Protocol

from rich.text import Text

from stepmark.report import format as show
from stepmark.report.grid import Column, Piece, Row, make_grid
from stepmark.report.ledger import HEADING
from stepmark.report.page import Page
from stepmark.report.sheet import Sheet

COLUMNS = (Column(fold=True), Column(), Column(), Column(fold=True))


class NamedRun(Protocol):
    """What the list needs to know of a baseline."""

    @property
    def name(self) -> str: ...
    @property
    def run(self) -> str: ...
    @property
    def saved(self) -> float: ...
    @property
    def suites(self) -> Sequence[str]: ...


def baselines_table(baselines: Sequence[NamedRun], *, zone: tzinfo | None = None) -> Sheet:
    """The names in the order given; times of day are local unless a zone is named."""
    return Sheet(lambda page: _lines(baselines, zone, page))


def _lines(baselines: Sequence[NamedRun], zone: tzinfo | None, page: Page) -> list[Text]:
    if not baselines:
        return page.paragraph("no baselines in this store yet: stepmark baseline save NAME makes one")
    rows: list[Row] = [[Piece(title, HEADING) for title in ("name", "run", "saved", "suites")]]
    rows += [
        [
            Piece(each.name),
            Piece(each.run),
            Piece(show.moment(each.saved, zone=zone)),
            Piece(", ".join(each.suites)),
        ]
        for each in baselines
    ]
    return make_grid(COLUMNS, rows, page=page).lines(page)
