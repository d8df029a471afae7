"""Phases that do nothing, as far as anyone can see: no operation was dispatched and hardly any time passed.

A kernel that torch's dispatcher does not see leaves no trace either. One that takes 5 µs is left alone, but a
shorter one cannot be told from nothing: filling 4096 numbers by a pointer taken before, or by a NumPy
view, looked the same. What rests on this alone is a warning, never an error.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.plain_steps import plain_seconds
from stepmark.records.inspection import PhaseInspection

MAX_SECONDS = 5e-6


def does_nothing(phase: PhaseInspection, case: CaseLanes) -> bool:
    """False where that cannot be known."""
    seconds = plain_seconds(case, phase.phase)
    return phase.operations == 0 and not phase.unseen and seconds is not None and seconds < _nothing(case)


def _nothing(case: CaseLanes) -> float:
    """Seconds that a phase without work may seem to take. An accelerator's clock costs more than a call, and
    what it costs was measured in each launch."""
    costs = [lane.clock_seconds for _, lane in case.lanes] if case.case.cell.device != "cpu" else []
    return max([MAX_SECONDS, *(2.0 * cost for cost in costs)])
