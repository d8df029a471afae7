"""The view of a warm-up study: its tables and sentences as text, for every format that shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from stepmark.records.warmup import (
    Course,
    PhaseStart,
    SlowStart,
    StartCause,
    WarmupRecording,
    WarmupSummary,
)
from stepmark.report import format as show
from stepmark.report.text_table import TextTable

SHOWN_PACKAGES = 4
_NO_TIME = "not known"


class WarmupView(NamedTuple):
    """What a report of a warm-up shows, in reading order."""

    title: str
    context: tuple[str, ...]
    firsts: TextTable
    dropped: TextTable
    automatic: str
    curve: tuple[float, ...]
    curve_title: str
    slow_start: str
    causes: TextTable | None
    failures: tuple[str, ...]
    facts: tuple[str, ...]


def build_warmup_view(recording: WarmupRecording, summary: WarmupSummary) -> WarmupView:
    """Text for every number, in the order a reader needs it."""
    cell, num = recording.case.cell, len(summary.launches)
    process = next(trial.process for trial in recording.trials if trial.process is not None)
    threads = show.plural(process.threads, "thread")
    averaged = max(dropped.num for dropped in summary.phases[0].dropped)
    return WarmupView(
        title=f"{cell.suite}/{recording.case.variant}" + (f"[{cell.point}]" if cell.point else ""),
        context=(cell.device, cell.dtype, cell.mode.value, *cell.regime, threads),
        firsts=_firsts(summary),
        dropped=_dropped(summary),
        automatic=_automatic(summary),
        curve=summary.curve,
        curve_title=f"{summary.primary} by iteration, log scale, median of {show.plural(num, 'launch')}",
        slow_start=_slow_start(summary),
        causes=_causes(summary) if summary.causes else None,
        failures=tuple(
            f"launch {trial.number}: {trial.failure.outcome} in {trial.failure.stage}, after "
            f"{show.plural(len(trial.iterations), 'iteration')}: {trial.failure.message}"
            for trial in recording.trials
            if trial.failure is not None
        ),
        facts=(
            f"{show.plural(num, 'launch')} × {show.plural(recording.iterations, 'iteration')}",
            f"mean and population std of the next {averaged}, medians over launches",
            f"workers by {process.started_by}",
            recording.environment.host.cpu_model,
            *(recording.environment.torch.devices[:1] if recording.case.cell.device != "cpu" else ()),
            f"torch {recording.environment.torch.version}",
            f"stepmark {recording.environment.stepmark}",
            "not stored",
        ),
    )


def failed_launches(recording: WarmupRecording) -> str:
    """Why there is nothing to show, where no launch came to its end."""
    failure = next((trial.failure for trial in recording.trials if trial.failure is not None), None)
    reason = f"{failure.outcome} in {failure.stage}: {failure.message}" if failure else "nothing was measured"
    return f"no launch came to its end: {reason}"


def _firsts(summary: WarmupSummary) -> TextTable:
    head = ("phase", "first iteration", "steady level", "first / steady")
    return TextTable((head, *(_first(phase) for phase in summary.phases)), "lrrr")


def _first(phase: PhaseStart) -> tuple[str, ...]:
    if phase.steady is None:
        return phase.phase, show.seconds(phase.first), "never settled", ""
    ratio = times(phase.first / phase.steady)
    return phase.phase, show.seconds(phase.first), show.seconds(phase.steady), ratio


def _dropped(summary: WarmupSummary) -> TextTable:
    rows = [
        (
            phase.phase if place == 0 else "",
            f"{dropped.warmup} automatic" if dropped.warmup == summary.automatic else f"{dropped.warmup}",
            show.seconds(dropped.mean),
            show.seconds(dropped.deviation),
            show.seconds(dropped.median),
        )
        for phase in summary.phases
        for place, dropped in enumerate(phase.dropped)
    ]
    return TextTable((("phase", "dropped", "mean", "± std", "median"), *rows), "llrrr")


def _automatic(summary: WarmupSummary) -> str:
    counts = Counter(launch.course for launch in summary.launches)
    courses = ", ".join(f"{course} in {counts[course]}" for course in Course if counts[course])
    courses += f" of {show.plural(len(summary.launches), 'launch')}"
    if summary.automatic is None or summary.automatic_range is None:
        return f"automatic: never settled ({courses})"
    low, high = summary.automatic_range
    over = f", {low} to {high} over launches" if low < high else ""
    return f"automatic: drop {show.plural(summary.automatic, 'iteration')}{over} ({courses})"


def _slow_start(summary: WarmupSummary) -> str:
    if not summary.causes:
        return "no slow start in most launches: there is nothing to explain"
    whole = summary.phases[0].steady
    worth = f", as long as {_iterations(summary.lost_seconds / whole)} steady iterations" if whole else ""
    what = "the slow start loses" if whole else "slow iterations lose"
    return f"{what} {show.seconds(summary.lost_seconds)}{worth}"


def _iterations(number: float) -> str:
    return f"{number:.1f}" if number < 9.95 else show.count(round(number))


def _causes(summary: WarmupSummary) -> TextTable:
    head = ("cause", "iterations", "what was seen", "time lost", "launches")
    num = len(summary.launches)
    rows = [
        (str(cause.kind), _places(cause), describe_cause(cause), _lost(cause), f"{cause.launches} of {num}")
        for cause in summary.causes
    ]
    return TextTable((head, *rows), "lllrr")


def _places(cause: StartCause) -> str:
    return f"{cause.first}" if cause.first == cause.last else f"{cause.first} to {cause.last}"


def _lost(cause: StartCause) -> str:
    if cause.seconds is None or cause.share is None:
        return _NO_TIME
    return f"{show.seconds(cause.seconds)}, {100.0 * cause.share:.0f}{show.NBSP}%"


def describe_cause(cause: StartCause) -> str:
    """What the gauge showed."""
    return _WHAT[cause.kind](cause)


_WHAT: dict[SlowStart, Callable[[StartCause], str]] = {
    SlowStart.COMPILATION: lambda cause: show.plural(round(cause.amount), "compilation"),
    SlowStart.AUTOTUNING: lambda _: "kernels tried",
    SlowStart.OPTIMIZER_STATE: lambda cause: f"{show.size(round(cause.amount))} of state made",
    SlowStart.PAGE_FAULTS: lambda cause: f"{show.count(round(cause.amount))} more page faults",
    SlowStart.CLOCK_RAMP: lambda cause: f"processor {times(cause.amount)} slower",
    SlowStart.DEVICE_MEMORY: lambda cause: f"{show.size(round(cause.amount))} of device memory",
    SlowStart.LAZY_IMPORTS: lambda cause: f"{show.plural(round(cause.amount), 'module')}: {_packages(cause)}",
    SlowStart.THREADS_STARTED: lambda cause: f"{show.plural(round(cause.amount), 'thread')} started",
    SlowStart.UNKNOWN: lambda _: "not explained by a known time",
}


def _packages(cause: StartCause) -> str:
    left = len(cause.names) - SHOWN_PACKAGES
    shown = ", ".join(cause.names[:SHOWN_PACKAGES])
    return f"{shown} and {left} more" if left > 0 else shown


def times(factor: float) -> str:
    """`1.12x`, `35x`."""
    return f"{factor:.2f}x" if factor < 9.995 else f"{factor:.0f}x"
