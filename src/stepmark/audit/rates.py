"""Rates: the work that an inspection counted, over the time that the launches measured."""

from __future__ import annotations

import numpy as np

from stepmark.audit.lanes import CaseLanes
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


def _typical(levels: list[float]) -> float | None:
    typical = float(np.median(levels)) if levels else 0.0
    return typical if typical > 0.0 else None
