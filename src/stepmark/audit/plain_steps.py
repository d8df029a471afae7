"""The plain steps of a solo pass as times: how long an iteration, or one phase of it, takes alone."""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.stats.blocks import seconds_per_iteration
from stepmark.stats.quantile import median


def plain_seconds(case: CaseLanes, phase: str) -> float | None:
    """The median of one phase; None where it has no plain step."""
    samples = case.solo.samples if case.solo else ()
    sample = next((each for each in samples if each.phase == phase and each.nanoseconds), None)
    return float(median(seconds_per_iteration(sample.nanoseconds, sample.iterations))) if sample else None


def plain_iteration(case: CaseLanes) -> float | None:
    """Of all of it: the whole, or its phases together."""
    if case.evidence is None:
        return None
    layout = case.evidence.layout
    parts = (layout.whole,) if layout.whole else layout.phases
    times = [plain_seconds(case, phase) for phase in parts]
    return sum(time for time in times if time is not None) if any(times) else None
