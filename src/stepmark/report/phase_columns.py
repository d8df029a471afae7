"""The phases of a cell as columns: one row a variant, decimals below decimals."""

from __future__ import annotations

from typing import NamedTuple

from stepmark.records.verdict import VerdictKind
from stepmark.report import format as show
from stepmark.report.grid import Column, Grid, Piece, align, make_grid
from stepmark.report.ledger import HEADING, STYLES, Look
from stepmark.report.view import CellView, PhaseView
from stepmark.report.wording import time_heading, waits

TOLD_BY_COLOUR = {VerdictKind.FASTER, VerdictKind.SLOWER}
"""A phase's time is coloured only where the phase itself was judged different."""


class PhaseColumns(NamedTuple):
    """Titles, and below each one piece a variant."""

    names: tuple[str, ...] = ()
    columns: tuple[tuple[Piece, ...], ...] = ()

    def row(self, place: int) -> tuple[Piece, ...]:
        """One variant's pieces."""
        return tuple(column[place] for column in self.columns)

    def and_then(self, others: PhaseColumns) -> PhaseColumns:
        """With the others behind them."""
        return PhaseColumns((*self.names, *others.names), (*self.columns, *others.columns))


def phase_columns(cell: CellView, unit: show.TimeUnit | None) -> PhaseColumns:
    """Every phase but the primary, marked where it waited for the host; then, on a device, the host's time of
    the primary phase."""
    phases = PhaseColumns(
        names=cell.phases, columns=tuple(_phase_column(cell, name, unit) for name in cell.phases)
    )
    if not any(row.primary and row.primary.host is not None for row in cell.rows):
        return phases
    return phases.and_then(PhaseColumns(names=("host",), columns=(_host_column(cell, unit),)))


def other_columns(cell: CellView) -> PhaseColumns:
    """Parameters, memory (on an accelerator) and the limit, where any variant has them."""
    named = [
        ("params", ["" if row.parameters is None else show.count(row.parameters) for row in cell.rows]),
        ("memory", [show.size(row.memory.peak) if row.memory else "" for row in cell.rows]),
        ("of limit", [show.limit(row.limit) if row.limit else "" for row in cell.rows]),
    ]
    on_cpu = cell.cell.device == "cpu"
    known = [(name, texts) for name, texts in named if any(texts) and not (on_cpu and name == "memory")]
    return PhaseColumns(
        names=tuple(name for name, _ in known),
        columns=tuple(tuple(map(Piece, texts)) for _, texts in known),
    )


def phase_grid(cell: CellView, phases: PhaseColumns, look: Look, *, title: str = "phases") -> Grid:
    """The columns as a table of their own; variants without numbers are left out."""
    columns = [Column(fold=True), *(Column(right=True) for _ in phases.names)]
    heading = time_heading(title, look.unit) if title == "phases" else title
    rows = [[Piece(heading, HEADING), *(Piece(name, HEADING) for name in phases.names)]]
    rows += [[Piece(row.variant), *phases.row(n)] for n, row in enumerate(cell.rows) if row.primary]
    return make_grid(columns, rows, page=look.page)


def _phase_column(cell: CellView, name: str, unit: show.TimeUnit | None) -> tuple[Piece, ...]:
    phases = [next((phase for phase in row.phases if phase.name == name), None) for row in cell.rows]
    texts = align([show.seconds(phase.time, unit=unit) if phase else "" for phase in phases])
    if any(waits(phase) for phase in phases):
        texts = [f"{text}{waits(phase) or ' '}" for text, phase in zip(texts, phases, strict=True)]
    return tuple(Piece(text, _style(phase)) for text, phase in zip(texts, phases, strict=True))


def _host_column(cell: CellView, unit: show.TimeUnit | None) -> tuple[Piece, ...]:
    """How long the host took to ask for the primary phase, marked where the device waited for it."""
    phases = [row.primary for row in cell.rows]
    hosts = [phase.host if phase else None for phase in phases]
    texts = align(["" if host is None else show.seconds(host, unit=unit) for host in hosts])
    return tuple(Piece(text + waits(phase), "dim") for text, phase in zip(texts, phases, strict=True))


def _style(phase: PhaseView | None) -> str:
    if phase and phase.kind in TOLD_BY_COLOUR:
        return STYLES[phase.kind].removeprefix("bold ")
    return ""
