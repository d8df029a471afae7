"""Outstanding work: a phase returned, and its process went on computing."""

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
