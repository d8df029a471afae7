"""The profiler's cost: blocks of one program with the profiler and without it, in turn, in one process.

Timing model
------------
A round is one block without the profiler and one with it, in an order drawn anew: what drifts from round to
round cancels in their ratio. Both are clocked alike (sampler.py) and begin with an unclocked iteration:

    [start profiler]  iteration   m  phase  m   m  phase  m  ...  [stop profiler, throw its record away]
                      iteration   m  phase  m   m  phase  m  ...

Starting and stopping are outside every clock: the ratio is what a phase costs more while it is profiled. The
same instance runs in both, so that memory and its place in it are the same.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from random import Random

from stepmark.measure.failures import LaneStopped, from_exception
from stepmark.measure.instrument import Instrument
from stepmark.measure.lane import Bind
from stepmark.measure.profiler import Profiler
from stepmark.measure.program import Program
from stepmark.measure.protocol import CostRoundDone, Entered, LaneFailed, ScalesReady
from stepmark.measure.sampler import run_block
from stepmark.measure.tracing import Emit, Now, leave_nothing_behind, warm_up
from stepmark.records.outcome import Stage
from stepmark.records.profile import CostRound
from stepmark.records.settings import Settings


def weigh_profiler(
    variant: str,
    bind: Bind,
    *,
    instrument: Instrument,
    profiler: Profiler,
    settings: Settings,
    rounds: int,
    random: Random,
    emit: Emit,
    now: Now = time.perf_counter,
) -> None:
    """Build, warm up, then the rounds; every end is an event."""
    stage = Stage.BUILD
    emit(Entered(stage=stage, variant=variant))
    try:
        program = bind()
        stage = Stage.WARMUP
        emit(Entered(stage=stage, variant=variant))
        iterations = warm_up(variant, program, instrument=instrument, settings=settings, now=now)
        scales = _Scales(program, profiler, instrument, iterations)
        scales.round(profiled_first=True)  # the first recording of a process loads the profiler
        emit(ScalesReady(layout=program.layout, iterations=iterations))
        stage = Stage.ROUNDS
        for number in range(rounds):
            emit(Entered(stage=stage, variant=variant, round=number))
            emit(CostRoundDone(round=scales.round(profiled_first=random.random() < 0.5)))
    except LaneStopped as stopped:
        emit(LaneFailed(variant=variant, failure=stopped.failure))
    except BaseException as error:
        emit(LaneFailed(variant=variant, failure=from_exception(error, stage)))


class _Scales:
    """One program, as it is and annotated."""

    def __init__(
        self, program: Program, profiler: Profiler, instrument: Instrument, iterations: tuple[int, ...]
    ) -> None:
        self._plain, self._annotated = program, profiler.annotate(program, wait=False)
        self._profiler, self._instrument, self._iterations = profiler, instrument, iterations

    def round(self, *, profiled_first: bool) -> CostRound:
        if profiled_first:
            profiled = self._profiled()
            unprofiled = self._unprofiled()
        else:
            unprofiled = self._unprofiled()
            profiled = self._profiled()
        return CostRound(unprofiled=unprofiled, profiled=profiled, profiled_first=profiled_first)

    def _profiled(self) -> tuple[int, ...]:
        return self._block(self._annotated, self._profiler.recording())

    def _unprofiled(self) -> tuple[int, ...]:
        return self._block(self._plain, nullcontext())

    def _block(self, program: Program, around: AbstractContextManager[object]) -> tuple[int, ...]:
        with around:
            program.iterate()
            nanoseconds = run_block(program, self._iterations, self._instrument)
        leave_nothing_behind(program)
        return nanoseconds
