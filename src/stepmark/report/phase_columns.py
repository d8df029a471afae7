"""The phases of a cell as columns: one row a variant, decimals below decimals."""

from __future__ import annotations

from typing import NamedTuple

from stepmark.records.verdict import VerdictKind
from stepmark.report import format as show
from stepmark.report.grid import Column, Grid, Piece, align, make_grid
from stepmark.report.ledger import HEADING, STYLES, Look
from stepmark.report.view import CellView, PhaseView
from stepmark.report.wording import time_heading

TOLD_BY_COLOUR = {VerdictKind.FASTER, VerdictKind.SLOWER}
"""A phase's time is coloured only where the phase itself was judged different."""


class PhaseColumns(NamedTuple):
    """Titles, and below each one piece a variant."""

    names: tuple[str, ...] = ()
    columns: tuple[tuple[Piece, ...], ...] = ()

    def row(self, place: int) -> tuple[Piece, ...]:
        """One variant's pieces."""
        return tuple(column[place] for column in self.columns)


def phase_columns(cell: CellView, unit: show.TimeUnit | None) -> PhaseColumns:
    """Every phase but the primary, then the number of parameters where it is known."""
    names, columns = list(cell.phases), [_phase_column(cell, name, unit) for name in cell.phases]
    if any(row.parameters is not None for row in cell.rows):
        names.append("params")
        counts = ("" if row.parameters is None else show.count(row.parameters) for row in cell.rows)
        columns.append(tuple(map(Piece, counts)))
    return PhaseColumns(names=tuple(names), columns=tuple(columns))


def phase_grid(cell: CellView, phases: PhaseColumns, look: Look) -> Grid:
    """The columns as a table of their own; variants without numbers are left out."""
    columns = [Column(fold=True), *(Column(right=True) for _ in phases.names)]
    title = time_heading("phases", look.unit)
    rows = [[Piece(title, HEADING), *(Piece(name, HEADING) for name in phases.names)]]
    rows += [[Piece(row.variant), *phases.row(n)] for n, row in enumerate(cell.rows) if row.phases]
    return make_grid(columns, rows, page=look.page)


def _phase_column(cell: CellView, name: str, unit: show.TimeUnit | None) -> tuple[Piece, ...]:
    phases = [next((phase for phase in row.phases if phase.name == name), None) for row in cell.rows]
    texts = align([show.seconds(phase.time, unit=unit) if phase else "" for phase in phases])
    return tuple(Piece(text, _style(phase)) for text, phase in zip(texts, phases, strict=True))


def _style(phase: PhaseView | None) -> str:
    if phase and phase.kind in TOLD_BY_COLOUR:
        return STYLES[phase.kind].removeprefix("bold ")
    return ""
