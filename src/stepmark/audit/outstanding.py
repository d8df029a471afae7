"""Outstanding work: a phase returned, and its process or its device went on computing."""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.plain_steps import plain_iteration
from stepmark.records.inspection import PhaseInspection

LEAST_SECONDS = 1e-3
"""Less is within what threads that wind down spend."""
LEAST_SHARE = 0.05
"""Of one iteration, as the plain steps of the solo pass took it."""


def is_outstanding(phase: PhaseInspection, case: CaseLanes) -> bool:
    """Whether so much was still being computed that the clock cannot have seen all of it."""
    iteration = plain_iteration(case) or 0.0
    return phase.outstanding_seconds >= max(LEAST_SECONDS, LEAST_SHARE * iteration)


def is_stray(phase: PhaseInspection, case: CaseLanes) -> bool:
    """Whether the device went on for so long after the current stream that another one must have had work.
    A wait alone grows with the work before it: beside iterations of 0.1 to 2 s on an H200, 157 µs."""
    iteration = plain_iteration(case) or 0.0
    return phase.stray_seconds > 0.0 and phase.stray_seconds >= min(LEAST_SECONDS, LEAST_SHARE * iteration)
