"""Warming: from a target to the first iterations of one of its cases, measured in fresh processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stepmark.errors import BenchFileError, UsageError
from stepmark.instruments.host_facts import environment
from stepmark.measure.assignment import WarmupAssignment
from stepmark.measure.expand import Selection, expand, select
from stepmark.measure.protocol import Described
from stepmark.records.case import Case
from stepmark.records.outcome import Cause
from stepmark.records.settings import Settings
from stepmark.records.source import FileSource, Source
from stepmark.records.warmup import WarmupRecording, WarmupTrial

SHOWN_CASES = 20


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
    cases = expand(outlines, condition=order.selection.condition, device=described.device)
    case = choose(cases, order.case)
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


def choose(cases: Sequence[Case], text: str | None) -> Case:
    """The one case that the text names: its variant, its id, or the beginning of its id."""
    fitting = list(cases) if text is None else _named(cases, text)
    if len(fitting) == 1:
        return fitting[0]
    listed = fitting or list(cases)
    ids = [case.id for case in listed[:SHOWN_CASES]]
    more = len(listed) - len(ids)
    detail = "\n".join([*ids, f"and {more} more"] if more else ids)
    if not fitting:
        raise UsageError(
            f"no case is called '{text}'", remedy="name one of the cases above with --case", detail=detail
        )
    what = f"'{text}' names" if text else "the target has"
    raise UsageError(
        f"{what} {len(fitting)} cases, and a warm-up is looked at one by one",
        remedy="choose one of the cases above with --case, or narrow them with --set, --dtype and --mode",
        detail=detail,
    )


def _named(cases: Sequence[Case], text: str) -> list[Case]:
    """Whole names before beginnings; the suite's name may be left out."""
    whole = [case for case in cases if text in (case.variant, case.id)]
    return whole or [
        case for case in cases if case.id.startswith(text) or case.id.partition("/")[2].startswith(text)
    ]


def _stop_at_mistake(trial: WarmupTrial) -> None:
    """A bench file that uses stepmark wrongly is for its author to mend."""
    if trial.failure is not None and trial.failure.cause is Cause.MISTAKE:
        raise BenchFileError(trial.failure.message, remedy="mend it in the bench file and run again")
