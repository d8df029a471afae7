"""Measured cells: those of a recording that a run of what is missing leaves out."""

from __future__ import annotations

from stepmark.analysis.trials import gather
from stepmark.records.run import Recording


def measured_cells(recording: Recording) -> frozenset[str]:
    """By id: cells with a launch that came to its end, and cells of which no case could be launched."""
    known: set[str] = set()
    unknown: set[str] = set()
    for trials in gather(recording).values():
        failed_alone = trials.solo is not None and trials.solo.failure is not None
        (known if trials.cell.counted or failed_alone else unknown).add(trials.case.cell.id)
    return frozenset(known - unknown)
