"""Trials of a profile: what its workers reported, and how they ended, as records."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from stepmark.measure.assemble import Ended, Timing, process_facts
from stepmark.measure.profile_assignment import WeighingAssignment
from stepmark.measure.protocol import CostRoundDone, Event, LaneFailed, ScalesReady, Traced
from stepmark.records.outcome import Failure
from stepmark.records.profile import TracingTrial, WeighingTrial


def tracing_trial(home: Ended, *, timing: Timing, death: Failure | None) -> TracingTrial:
    """`death` is given where the process did not finish by itself."""
    traced = next((event for event in home.events if isinstance(event, Traced)), None)
    failure = _failure(home.events) or death
    return TracingTrial(
        started=timing.started,
        seconds=timing.seconds,
        process=process_facts(home),
        layout=traced.layout if traced else None,
        trace=traced.trace if traced else None,
        failure=replace(failure, output=home.output) if failure else None,
        output=home.output,
    )


def weighing_trial(
    assignment: WeighingAssignment, home: Ended, *, timing: Timing, death: Failure | None
) -> WeighingTrial:
    """`death` is given where the process did not finish by itself."""
    ready = next((event for event in home.events if isinstance(event, ScalesReady)), None)
    failure = _failure(home.events) or death
    return WeighingTrial(
        number=assignment.number,
        started=timing.started,
        seconds=timing.seconds,
        process=process_facts(home),
        layout=ready.layout if ready else None,
        iterations=ready.iterations if ready else (),
        rounds=tuple(event.round for event in home.events if isinstance(event, CostRoundDone)),
        failure=replace(failure, output=home.output, launch=assignment.number) if failure else None,
        output=home.output,
    )


def _failure(events: Sequence[Event]) -> Failure | None:
    return next((event.failure for event in events if isinstance(event, LaneFailed)), None)
