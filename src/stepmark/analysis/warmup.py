"""A warm-up study summarized: what dropping first iterations changes, when it is steady, why it is slow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from stepmark.analysis.slow_start import Start, find_causes, time_lost
from stepmark.records.sample import Layout
from stepmark.records.warmup import (
    Course,
    Dropped,
    LaunchStart,
    PhaseStart,
    WarmupRecording,
    WarmupSummary,
    WarmupTrial,
)
from stepmark.stats.arrays import FloatArray
from stepmark.stats.quantile import median
from stepmark.stats.steady import steady_state

WARMUPS = (0, 1, 2, 5)
"""Iterations dropped, besides what automatic detection says."""
AVERAGED = 10
"""The next iterations, of which mean and deviation are taken."""


def summarize_warmup(recording: WarmupRecording) -> WarmupSummary | None:
    """From the launches that came to their end; None where none did."""
    trials = [trial for trial in recording.trials if trial.failure is None and trial.layout is not None]
    if not trials or recording.iterations == 0:
        return None
    layout = trials[0].layout
    assert layout is not None
    times = read_phases(trials, layout)
    starts = [_start(trial, times, layout, row) for row, trial in enumerate(trials)]
    warmups = [start.warmup for start in starts if start.warmup is not None]
    automatic = math.ceil(np.median(warmups)) if 2 * len(warmups) > len(starts) else None
    return WarmupSummary(
        course=_prevailing([start.course for start in starts]),
        automatic=automatic,
        automatic_range=(min(warmups), max(warmups)) if warmups else None,
        primary=layout.primary,
        launches=tuple(
            LaunchStart(
                number=start.trial.number,
                course=start.course,
                warmup=start.warmup,
                lost_seconds=start.lost_seconds,
            )
            for start in starts
        ),
        phases=tuple(_phase(name, rows, starts, automatic) for name, rows in times.items()),
        curve=tuple(median(times[layout.primary].T).tolist()),
        lost_seconds=time_lost(starts),
        causes=find_causes(starts),
    )


def read_phases(trials: Sequence[WarmupTrial], layout: Layout) -> dict[str, FloatArray]:
    """Seconds by launch and iteration of each total and phase, the primary first."""
    blocks = np.array([[one.nanoseconds for one in trial.iterations] for trial in trials], dtype=np.float64)
    blocks = (
        np.maximum(blocks, 1.0) * 1e-9
    )  # a call shorter than the clock's resolution still has a logarithm
    measured = {phase: blocks[:, :, column] for column, phase in enumerate(layout.phases)}
    totals = {total.name: np.sum([measured[part] for part in total.parts], axis=0) for total in layout.totals}
    named = totals | measured
    return {layout.primary: named[layout.primary], **named}


def _start(trial: WarmupTrial, times: Mapping[str, FloatArray], layout: Layout, row: int) -> Start:
    steady = steady_state(times[layout.primary][row])
    return Start(
        trial=trial,
        course=steady.course,
        warmup=steady.start,
        level=steady.level,
        seconds=times[layout.primary][row],
        optimizer=times["optimizer"][row] if "optimizer" in times else None,
    )


def _prevailing(courses: Sequence[Course]) -> Course:
    if 2 * courses.count(Course.NEVER_SETTLED) >= len(courses):
        return Course.NEVER_SETTLED
    return max((Course.FLAT, Course.WARMS_UP, Course.SLOWS_DOWN), key=courses.count)


def _phase(name: str, rows: FloatArray, starts: Sequence[Start], automatic: int | None) -> PhaseStart:
    settled = [
        float(median(row[start.warmup :]))
        for row, start in zip(rows, starts, strict=True)
        if start.warmup is not None
    ]
    warmups = sorted({*WARMUPS, *(() if automatic is None else (automatic,))})
    return PhaseStart(
        phase=name,
        first=float(median(rows[:, 0])),
        steady=float(median(np.array(settled))) if automatic is not None else None,
        dropped=tuple(_dropped(rows, warmup) for warmup in warmups if warmup < rows.shape[1]),
    )


def _dropped(rows: FloatArray, warmup: int) -> Dropped:
    """Mean, population deviation and median of the next iterations in each launch; medians over launches."""
    kept = rows[:, warmup : warmup + AVERAGED]
    return Dropped(
        warmup=warmup,
        num=kept.shape[1],
        mean=float(median(kept.mean(axis=1))),
        deviation=float(median(kept.std(axis=1))),
        median=float(median(median(kept))),
    )
