"""The sampling loop: runs one block and returns the time of each phase.

Timing model
------------
A program with a whole (a training step) is timed iteration by iteration, m being one reading of the clock.
Half of a block's iterations are timed whole and half are taken apart, in turn, so that the readings between
the phases cannot lengthen the step that is reported:

    prepare()                      outside: gradients cleared, last graph dropped
    m  forward() ... optimizer()  m                                     the step
    prepare()
    m  forward()  m   m  loss()  m   m  backward()  m   m  optimizer()  m   its phases

What the phases do not explain of the step is the remainder. Each phase contains one reading of the clock,
which can make the remainder slightly negative. Where a block is a single iteration (a step of 0.25 ms or
more) that iteration gives both: readings and remainder are then some microseconds at most (written_out.py).

A program without a whole (forward only, operations) has nothing to do between iterations, so a phase is
timed as a batch, and the reading is shared by all its iterations:

    m  call() call() ... call()  m

Garbage collection is off inside a block and on between blocks, so that a collection never falls into a clock.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from stepmark.measure.instrument import Clock
from stepmark.measure.program import Call, Program
from stepmark.measure.written_out import written_out
from stepmark.records.sample import Layout


def run_block(program: Program, iterations: Sequence[int], clock: Clock) -> tuple[int, ...]:
    """Nanoseconds of each phase of the layout, summed over its iterations."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with program.context():
            if program.prepare is None:
                return _batched(program.calls, iterations, clock)
            if iterations[0] == 1:
                return _stepped_once(program, program.prepare, clock)
            return _stepped_in_turn(program, program.prepare, clock, iterations[0])
    finally:
        if was_enabled:
            gc.enable()


def _stepped_once(program: Program, prepare: Call, clock: Clock) -> tuple[int, ...]:
    """One iteration gives the whole and its phases."""
    apart = written_out(len(program.calls)).apart
    prepare()
    first, *moments, last = clock.nanoseconds(apart(program.calls, clock.mark))
    return _in_layout_order(program.layout, last - first, _spans(moments, len(program.calls)))


def _stepped_in_turn(program: Program, prepare: Call, clock: Clock, iterations: int) -> tuple[int, ...]:
    """An iteration timed whole, then one taken apart, and so on."""
    calls, mark = program.calls, clock.mark
    whole, apart = written_out(len(calls))
    outer: list[Any] = []
    inner: list[Any] = []
    for _ in repeat(None, iterations):
        prepare()
        outer += whole(calls, mark)
        prepare()
        inner += apart(calls, mark)[1:-1]
    moments = clock.nanoseconds([*outer, *inner])
    (total,) = _spans(moments[: len(outer)], 1)
    return _in_layout_order(program.layout, total, _spans(moments[len(outer) :], len(calls)))


def _spans(moments: Sequence[int], num_phases: int) -> list[int]:
    """Pairs of moments, phase after phase, iteration after iteration, summed per phase."""
    width = 2 * num_phases
    return [sum(moments[i + 1 :: width]) - sum(moments[i::width]) for i in range(0, width, 2)]


def _in_layout_order(layout: Layout, whole: int, spans: list[int]) -> tuple[int, ...]:
    rest = iter(spans)
    return tuple(whole if phase == layout.whole else next(rest) for phase in layout.phases)


def _batched(calls: Sequence[Call], iterations: Sequence[int], clock: Clock) -> tuple[int, ...]:
    mark = clock.mark
    marks: list[Any] = []
    for call, count in zip(calls, iterations, strict=True):
        begin = mark()
        for _ in repeat(None, count):
            call()
        end = mark()
        marks += (begin, end)
    moments = clock.nanoseconds(marks)
    return tuple(end - begin for begin, end in zip(moments[0::2], moments[1::2], strict=True))


def _nothing() -> None:
    pass


def clock_cost(program: Program, clock: Clock, *, iterations: int = 200) -> float:
    """Seconds the loop itself adds to one iteration: the same program with empty phases."""
    empty = Program(
        layout=program.layout,
        calls=(_nothing,) * len(program.calls),
        prepare=_nothing if program.prepare is not None else None,
    )
    totals = run_block(empty, (iterations,) * len(program.layout.phases), clock)
    whole = program.layout.whole
    spent = totals[program.layout.phases.index(whole)] if whole is not None else sum(totals)
    return spent / iterations * 1e-9
