"""Profiling: from a target to the profile of one of its cases, and to what profiling costs any of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from stepmark.errors import BenchFileError
from stepmark.instruments.host_facts import environment
from stepmark.measure.choice import choose
from stepmark.measure.expand import Selection, cases_of, select
from stepmark.measure.profile_assignment import TracingAssignment, WeighingAssignment
from stepmark.measure.protocol import Described
from stepmark.records.case import Case
from stepmark.records.outcome import Cause, Failure
from stepmark.records.profile import CostRecording, ProfileRecording, TracingTrial, WeighingTrial
from stepmark.records.settings import Settings
from stepmark.records.source import FileSource, Source

ITERATIONS = 5
"""Traced by default: enough to see what repeats, and a trace that opens at once."""
LAUNCHES = 5
ROUNDS = 10
"""Of the profiler's cost, in each launch."""

Begins = Callable[[str], None]
"""Hears what begins, in a few words."""


@dataclass(frozen=True, kw_only=True)
class ProfileOrder:
    """What is to be profiled, and how."""

    sources: tuple[Source, ...]
    settings: Settings
    """Its launches are those of the profiler's cost."""
    iterations: int = ITERATIONS
    rounds: int = ROUNDS
    case: str | None = None
    """A variant, a case id, or the beginning of one."""
    selection: Selection = field(default_factory=Selection)
    device: str = "cpu"
    trace_file: str | None = None
    """Absolute."""
    nvtx: bool = False
    command: tuple[str, ...] = ()


class Describer(Protocol):
    """Knows what sources define."""

    def describe(self, sources: Sequence[Source], device: str) -> Described:
        """What the sources define."""


class Weigher(Protocol):
    """Where the profiler's cost is measured: the local engine."""

    def weigh_profiler(self, assignment: WeighingAssignment) -> WeighingTrial:
        """Blocks with and without the profiler in a fresh process; failures are in the trial."""


class Tracer(Describer, Weigher, Protocol):
    """Where profiles are taken: the local engine."""

    def trace(self, assignment: TracingAssignment) -> TracingTrial:
        """Some iterations under the profiler in a fresh process; failures are in the trial."""


class Runner(Describer, Protocol):
    """Where a case runs plainly: this process."""

    def iterate(self, assignment: TracingAssignment) -> bool:
        """Run the iterations; whether their phases had NVTX ranges."""


def measure_profile(
    order: ProfileOrder, *, engine: Tracer, begins: Begins = lambda _: None
) -> ProfileRecording:
    """Describe, choose the case, trace it, and weigh the profiler on it."""
    chosen = _choose(order, engine)
    begins("tracing")
    tracing = engine.trace(_tracing(order, chosen))
    _stop_at_mistake(tracing.failure)
    settings = order.settings if tracing.failure is None else replace(order.settings, launches=0)
    (cost,) = measure_costs(
        [chosen.case],
        source_of=lambda _: chosen.source,
        settings=settings,
        engine=engine,
        rounds=order.rounds,
        begins=begins,
    )
    file = next((source for source in order.sources if isinstance(source, FileSource)), None)
    return ProfileRecording(
        case=chosen.case,
        iterations=order.iterations,
        environment=environment(
            chosen.described.torch, command=order.command, bench=Path(file.path) if file else None
        ),
        tracing=tracing,
        cost=cost,
        trace_file=order.trace_file,
    )


def measure_costs(
    cases: Sequence[Case],
    *,
    source_of: Callable[[Case], Source],
    settings: Settings,
    engine: Weigher,
    rounds: int = ROUNDS,
    begins: Begins = lambda _: None,
) -> tuple[CostRecording, ...]:
    """What profiling costs each of these cases; one that fails before its first round is not tried again."""
    recordings = []
    for case in cases:
        launches: list[WeighingTrial] = []
        for number in range(settings.launches):
            begins(f"cost of profiling {case.id}, launch {number + 1} of {settings.launches}")
            assignment = WeighingAssignment(
                case=case, number=number, rounds=rounds, source=source_of(case), settings=settings
            )
            launches.append(engine.weigh_profiler(assignment))
            _stop_at_mistake(launches[-1].failure)
            if launches[-1].failure is not None and not launches[-1].rounds:
                break  # the next one would fail alike
        recordings.append(
            CostRecording(case=case, rounds=rounds, settings=settings, launches=tuple(launches))
        )
    return tuple(recordings)


class Plainly(NamedTuple):
    """A case that ran without stepmark's own profiler."""

    case: Case
    had_ranges: bool
    """NVTX ranges around its phases."""


def run_plainly(order: ProfileOrder, *, engine: Runner) -> Plainly:
    """The order's iterations of its case and nothing else."""
    chosen = _choose(order, engine)
    return Plainly(case=chosen.case, had_ranges=engine.iterate(_tracing(order, chosen)))


class _Chosen(NamedTuple):
    case: Case
    source: Source
    described: Described


def _choose(order: ProfileOrder, engine: Describer) -> _Chosen:
    described = engine.describe(order.sources, order.device)
    outlines = select(described.suites, order.selection)
    cases = cases_of(outlines, order.selection, device=described.device)
    case = choose(cases, order.case, purpose="a profile")
    origin = next(outline.source_index for outline in outlines if outline.name == case.cell.suite)
    return _Chosen(case, order.sources[origin], described)


def _tracing(order: ProfileOrder, chosen: _Chosen) -> TracingAssignment:
    return TracingAssignment(
        case=chosen.case,
        iterations=order.iterations,
        source=chosen.source,
        settings=order.settings,
        trace_file=order.trace_file,
        nvtx=order.nvtx,
    )


def _stop_at_mistake(failure: Failure | None) -> None:
    """A bench file that uses stepmark wrongly is for its author to mend."""
    if failure is not None and failure.cause is Cause.MISTAKE:
        raise BenchFileError(failure.message, remedy="mend it and run again")
