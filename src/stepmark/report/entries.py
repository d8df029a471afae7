"""Entries of ledgers, made from the rows of a view."""

from __future__ import annotations

from stepmark.report.grid import NOTE_WIDTH
from stepmark.report.ledger import Entry
from stepmark.report.view import CellView, RowView
from stepmark.report.wording import NOT_REACHED, end, failure_line, shortened


def main_entry(row: RowView, *, keys: tuple[str, ...] = (), group: str = "", brief: bool = False) -> Entry:
    """The primary phase of a variant; `brief` leaves a failure's message to the end of the report."""
    role = "baseline " if row.baseline else ""
    note, detail = ("", "") if row.outcome else (role + NOT_REACHED, "")
    if row.failure:
        short, whole = role + end(row.failure), role + failure_line(row.failure)
        if row.primary:
            note, detail = "", short if brief else whole
        elif brief or len(whole) <= NOTE_WIDTH:
            note, detail = short if brief else whole, ""
        else:
            note, detail = short, shortened(row.failure.message)
    return Entry(
        keys=keys,
        group=group,
        label=row.variant,
        phase=row.primary,
        baseline=row.baseline,
        note=note,
        detail=detail,
        kind=row.kind,
        reasons=row.reasons,
        marks=row.marks,
    )


def phase_entries(cell: CellView) -> list[Entry]:
    """Every phase but the primary, variant by variant."""
    return [
        Entry(keys=(row.variant,), group=row.variant, label=phase.name, phase=phase, kind=phase.kind)
        for row in cell.rows
        for phase in sorted(row.phases, key=lambda phase: cell.phases.index(phase.name))
    ]
