"""The list of stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import NamedTuple, Protocol

from rich.text import Text

from stepmark.records.run import RunStatus
from stepmark.report import format as show
from stepmark.report.grid import Column, Piece, make_grid
from stepmark.report.ledger import HEADING
from stepmark.report.page import Page
from stepmark.report.sheet import Sheet

WITHIN = "within"
"""From its start to its last end: a run that was stopped and resumed was not measured all that time."""
STATUS_STYLES = {RunStatus.COMPLETE: "green", RunStatus.INTERRUPTED: "yellow", RunStatus.RUNNING: "cyan"}
LEFT_OUT = ("solos", "command", WITHIN, "launches")
"""Columns a narrow page goes without, the first first."""
LEFT, RIGHT, FOLDED = Column(), Column(right=True), Column(fold=True)


class RunHead(Protocol):
    """What the list needs to know of a run."""

    @property
    def id(self) -> str: ...
    @property
    def started(self) -> float: ...
    @property
    def finished(self) -> float | None: ...
    @property
    def status(self) -> RunStatus: ...
    @property
    def suites(self) -> Sequence[str]: ...
    @property
    def num_cases(self) -> int: ...
    @property
    def num_solos(self) -> int: ...
    @property
    def num_launches(self) -> int: ...
    @property
    def command(self) -> Sequence[str]: ...


class _Field(NamedTuple):
    title: str
    column: Column
    pieces: list[Piece]


def runs_table(runs: Sequence[RunHead], *, zone: tzinfo | None = None) -> Sheet:
    """The runs in the order given; times of day are local unless a zone is named."""
    return Sheet(lambda page: _lines(runs, zone, page))


def _lines(runs: Sequence[RunHead], zone: tzinfo | None, page: Page) -> list[Text]:
    """What does not fit is left out whole."""
    if not runs:
        return page.paragraph("no runs in this store yet")
    fields = _fields(runs, zone)
    grids = []
    for num_left_out in range(len(LEFT_OUT) + 1):
        kept = [field for field in fields if field.title not in LEFT_OUT[:num_left_out]]
        heading = [Piece(field.title, HEADING) for field in kept]
        rows = [[field.pieces[n] for field in kept] for n in range(len(runs))]
        grids.append(make_grid([field.column for field in kept], [heading, *rows], page=page))
    return next((grid for grid in grids if grid.least_width <= page.width), grids[-1]).lines(page)


def _fields(runs: Sequence[RunHead], zone: tzinfo | None) -> list[_Field]:
    spans = [show.duration(run.finished - run.started) if run.finished is not None else "" for run in runs]
    return [
        _Field("run", LEFT, [Piece(run.id) for run in runs]),
        _Field("started", LEFT, [Piece(show.moment(run.started, zone=zone)) for run in runs]),
        _Field(WITHIN, RIGHT, [Piece(text) for text in spans]),
        _Field("status", LEFT, [Piece(run.status, STATUS_STYLES[run.status]) for run in runs]),
        _Field("cases", RIGHT, [Piece(str(run.num_cases)) for run in runs]),
        _Field("solos", RIGHT, [Piece(str(run.num_solos)) for run in runs]),
        _Field("launches", RIGHT, [Piece(str(run.num_launches)) for run in runs]),
        _Field("suites", FOLDED, [Piece(", ".join(run.suites)) for run in runs]),
        _Field("command", FOLDED, [Piece(" ".join(run.command)) for run in runs]),
    ]
