"""The first iterations of a case, timed one by one from the very first, with the process's gauges between.

Timing model
------------
Each iteration is a block of one (sampler.py). The gauges are read between iterations, outside every clock,
the same ones in the same way after each, so that what reading them does to the caches is no warm-up. It makes
iterations of less than a millisecond slower than they are in a block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from msgspec.structs import replace

from stepmark.measure.failures import from_exception
from stepmark.measure.instrument import Instrument
from stepmark.measure.lane import Bind
from stepmark.measure.program import Program
from stepmark.measure.protocol import Entered, Event, FaultsWeighed, IterationDone, LaneFailed, Ready
from stepmark.measure.sampler import run_block
from stepmark.records.outcome import Stage
from stepmark.records.warmup import Iteration, Reading

Emit = Callable[[Event], Any]


class Gauges(Protocol):
    """What can be read off a process while it warms up."""

    def read(self) -> Reading:
        """All gauges but the optimizer's state, which the program knows."""

    def new_modules(self) -> tuple[str, ...]:
        """Packages of which modules were imported since the last call."""

    def seconds_per_fault(self) -> float:
        """What a minor page fault costs now; disturbs the gauges of faults."""


def watch_start(
    variant: str, bind: Bind, *, instrument: Instrument, gauges: Gauges, iterations: int, emit: Emit
) -> None:
    """Build, then the first iterations; every end is an event."""
    stage = Stage.BUILD
    emit(Entered(stage=stage, variant=variant))
    try:
        program = bind()
        stage = Stage.STEP
        emit(Entered(stage=stage, variant=variant))
        _iterate(program, instrument, gauges, iterations, emit)
    except BaseException as error:
        emit(LaneFailed(variant=variant, failure=from_exception(error, stage)))


def _iterate(program: Program, instrument: Instrument, gauges: Gauges, iterations: int, emit: Emit) -> None:
    single = (1,) * len(program.layout.phases)
    gauges.new_modules()
    emit(Ready(layout=program.layout, reading=_read(program, gauges)))
    for _ in range(iterations):
        nanoseconds = run_block(program, single, instrument)
        reading = _read(program, gauges)
        done = Iteration(nanoseconds=nanoseconds, after=reading, new_modules=gauges.new_modules())
        emit(IterationDone(iteration=done))
    emit(FaultsWeighed(seconds_per_fault=gauges.seconds_per_fault()))


def _read(program: Program, gauges: Gauges) -> Reading:
    """Only a step with an optimizer is asked for its state: inspecting an inference would run it."""
    reading = gauges.read()
    if program.inspect is None or "optimizer" not in program.layout.phases:
        return reading
    return replace(reading, optimizer_state_bytes=program.inspect().optimizer_state_bytes)
