"""Warming: from a target to the first iterations of one of its cases, measured in fresh processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stepmark.errors import BenchFileError
from stepmark.instruments.host_facts import environment
from stepmark.measure.assignment import WarmupAssignment
from stepmark.measure.choice import choose
from stepmark.measure.expand import Selection, cases_of, select
from stepmark.measure.protocol import Described
from stepmark.records.outcome import Cause
from stepmark.records.settings import Settings
from stepmark.records.source import FileSource, Source
from stepmark.records.warmup import WarmupRecording, WarmupTrial


@dataclass(frozen=True, kw_only=True)
class WarmupOrder:
    """What is to be looked at, and how."""

    sources: tuple[Source, ...]
    iterations: int
    settings: Settings
    case: str | None = None
    """A variant, a case id, or the beginning of one."""
    selection: Selection = field(default_factory=Selection)
    device: str = "cpu"
    command: tuple[str, ...] = ()


class Warmer(Protocol):
    """Where warm-ups run: the local engine."""

    def describe(self, sources: Sequence[Source], device: str) -> Described:
        """What the sources define."""

    def warm_up(self, assignment: WarmupAssignment) -> WarmupTrial:
        """The first iterations in a fresh process; failures are in the trial."""


def measure_warmup(
    order: WarmupOrder, *, engine: Warmer, begins: Callable[[int], None] = lambda _: None
) -> WarmupRecording:
    """Describe, choose the case, and look at its first iterations; `begins` hears of every launch."""
    described = engine.describe(order.sources, order.device)
    outlines = select(described.suites, order.selection)
    cases = cases_of(outlines, order.selection, device=described.device)
    case = choose(cases, order.case, purpose="a warm-up")
    origin = next(outline.source_index for outline in outlines if outline.name == case.cell.suite)
    trials = []
    for number in range(order.settings.launches):
        begins(number)
        assignment = WarmupAssignment(
            case=case,
            number=number,
            iterations=order.iterations,
            source=order.sources[origin],
            settings=order.settings,
        )
        trials.append(engine.warm_up(assignment))
        _stop_at_mistake(trials[-1])
    file = next((source for source in order.sources if isinstance(source, FileSource)), None)
    return WarmupRecording(
        case=case,
        iterations=order.iterations,
        settings=order.settings,
        environment=environment(
            described.torch, command=order.command, bench=Path(file.path) if file else None
        ),
        trials=tuple(trials),
    )


def _stop_at_mistake(trial: WarmupTrial) -> None:
    """A bench file that uses stepmark wrongly is for its author to mend."""
    if trial.failure is not None and trial.failure.cause is Cause.MISTAKE:
        raise BenchFileError(trial.failure.message, remedy="mend it and run again")
