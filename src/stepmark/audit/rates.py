"""Rates: the work that an inspection counted, over the time that the launches measured."""

from __future__ import annotations

import numpy as np

from stepmark.audit.lanes import CaseLanes
from stepmark.records.inspection import Inspection, PhaseInspection
from stepmark.records.sample import Layout
from stepmark.stats.blocks import seconds_per_iteration


def typical_seconds(case: CaseLanes) -> float | None:
    """Of one iteration of the primary phase: the median over launches of their medians."""
    return _typical([level for level in case.levels if level is not None])


def phase_seconds(case: CaseLanes, phase: str) -> float | None:
    """The same of a phase that was timed by itself."""
    blocks = [
        seconds_per_iteration(sample.nanoseconds, sample.iterations)
        for lane in case.measured
        for sample in lane.samples
        if sample.phase == phase
    ]
    return _typical([float(np.median(each)) for each in blocks if each.size])


def primary_phases(inspection: Inspection, layout: Layout) -> tuple[PhaseInspection, ...]:
    """The phases that the primary time spans; empty where one of them was not inspected."""
    primary = layout.primary
    if primary == layout.whole:
        parts = tuple(phase for phase in layout.phases if phase != layout.whole)
    else:
        parts = next((total.parts for total in layout.totals if total.name == primary), (primary,))
    known = {phase.phase: phase for phase in inspection.phases}
    return tuple(known[part] for part in parts) if all(part in known for part in parts) else ()


def _typical(levels: list[float]) -> float | None:
    typical = float(np.median(levels)) if levels else 0.0
    return typical if typical > 0.0 else None
