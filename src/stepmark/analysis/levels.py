"""Levels of variance: how much of a ratio's spread is calls, blocks, rounds and launches."""

from __future__ import annotations

import numpy as np

from stepmark.analysis.pairing import Paired
from stepmark.analysis.trials import CaseTrials
from stepmark.records.sample import Layout
from stepmark.records.spread import Spread
from stepmark.stats.arrays import count
from stepmark.stats.blocks import seconds_per_iteration
from stepmark.stats.quantile import mad, median
from stepmark.stats.serial import effective_size
from stepmark.stats.variance import between_launches, error_of_median

LEAST_CALLS = 8
"""Single calls of the solo pass below which their spread is not worth a number."""


def spread_of(trials: CaseTrials, paired: Paired, phase: str, *, block: float) -> Spread | None:
    """Of one phase; `block` is its summary's spread inside a launch. None below two launches or rounds."""
    if phase not in paired.phases or len(paired.launches) < 2:
        return None
    row = paired.phases.index(phase)
    logs, centres = paired.logs[row], paired.centres[row]
    errors = error_of_median(logs)
    if np.isnan(errors).any():
        return None
    return Spread(
        call=_call_spread(trials, phase),
        block=block,
        round=float(median(mad(logs, centres))),
        centre=float(np.sqrt(np.mean(errors**2))),
        launch=float(between_launches(centres, errors)),
        independence=float(median(effective_size(logs) / count(logs))),
    )


def _call_spread(trials: CaseTrials, phase: str) -> float | None:
    """Of the later half of the solo pass's single calls: the first ones still warm up."""
    if trials.solo is None or trials.layout is None:
        return None
    parts = _parts(trials.layout, phase)
    calls = [
        seconds_per_iteration(sample.nanoseconds, sample.iterations)
        for sample in trials.solo.samples
        if sample.phase in parts
    ]
    if len(calls) < len(parts) or min(each.size for each in calls) < LEAST_CALLS:
        return None
    times = np.sum(calls, axis=0)
    later = times[times.size // 2 :]
    return float(mad(later) / median(later))


def _parts(layout: Layout, phase: str) -> tuple[str, ...]:
    """The measured phases that make up a phase or total."""
    return next((total.parts for total in layout.totals if total.name == phase), (phase,))
