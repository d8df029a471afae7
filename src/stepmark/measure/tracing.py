"""A traced pass: one case alone in its process, warmed up, then some iterations under the profiler.

Nothing is clocked here: the profiler's own stamps are all there is, and they contain its cost, which
profiler_cost.py measures. The first recording of a process loads the profiler: it is made and thrown away.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from stepmark.measure.failures import LaneStopped, from_exception
from stepmark.measure.instrument import Instrument
from stepmark.measure.lane import Bind, HostedLane
from stepmark.measure.profiler import Profiler
from stepmark.measure.program import Program
from stepmark.measure.protocol import Entered, Event, LaneFailed, Traced, Warmed
from stepmark.records.outcome import Stage
from stepmark.records.settings import Settings

Emit = Callable[[Event], Any]
Now = Callable[[], float]


def take_trace(
    variant: str,
    bind: Bind,
    *,
    instrument: Instrument,
    profiler: Profiler,
    settings: Settings,
    iterations: int,
    trace_file: str | None,
    emit: Emit,
    now: Now = time.perf_counter,
) -> None:
    """Build, warm up, trace; every end is an event."""
    stage = Stage.BUILD
    emit(Entered(stage=stage, variant=variant))
    try:
        program = bind()
        stage = Stage.WARMUP
        emit(Entered(stage=stage, variant=variant))
        warm_up(variant, program, instrument=instrument, settings=settings, now=now)
        annotated = profiler.annotate(program, wait=True)
        _record(annotated, profiler, 1)
        stage = Stage.STEP
        emit(Entered(stage=stage, variant=variant))
        _record(annotated, profiler, iterations)
        emit(Traced(layout=program.layout, trace=profiler.trace(program.layout, file=trace_file)))
    except LaneStopped as stopped:
        emit(LaneFailed(variant=variant, failure=stopped.failure))
    except BaseException as error:
        emit(LaneFailed(variant=variant, failure=from_exception(error, stage)))


def warm_up(
    variant: str, program: Program, *, instrument: Instrument, settings: Settings, now: Now
) -> tuple[int, ...]:
    """Run the program until it is steady, as a lane of a launch does; returns its block size per phase."""
    lane = HostedLane(variant, lambda: program, instrument, settings, now=now)
    lane.build()
    (warmed,) = [event for event in lane.warm_up() if isinstance(event, Warmed)]
    return warmed.iterations


def _record(program: Program, profiler: Profiler, iterations: int) -> None:
    """The last graph and gradients are gone before it begins, so that all memory seen is this recording's."""
    leave_nothing_behind(program)
    with _without_collection(), profiler.recording():
        for _ in range(iterations):
            program.iterate()
    leave_nothing_behind(program)


def leave_nothing_behind(program: Program) -> None:
    """Drop what the last iteration left."""
    if program.prepare is not None:
        program.prepare()


@contextmanager
def _without_collection() -> Iterator[None]:
    """No garbage collection falls into the trace."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
