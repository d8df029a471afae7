"""Counted work: what an instrumented iteration computed, where the count can be trusted."""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes


def counted_flops(case: CaseLanes) -> float | None:
    """Of all phases together; None where nothing was counted or the inspection broke off."""
    if case.inspection is None or case.inspection.problem:
        return None
    flops = sum(phase.flops for phase in case.phases)
    return flops if flops > 0.0 else None


def counts_all(case: CaseLanes) -> bool:
    """Whether there is no work that the count may have missed."""
    return not case.unseen and not any(phase.uncounted for phase in case.phases)
