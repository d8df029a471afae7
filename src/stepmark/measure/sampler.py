"""The sampling loop: runs one block and returns the time of each phase.

Timing model
------------
A program with a whole (a training step) is timed iteration by iteration, m being one reading of the clock:

    prepare()                      outside: gradients cleared, last graph dropped
    m                              step begins
    m  forward()   m               each phase between two readings of its own
    m  backward()  m
    m                              step ends

    phase = sum over iterations of (its second reading - its first)
    step  = sum over iterations of (last reading - first reading)

What the phases do not explain of the step, the remainder, is the readings themselves and the few bytecodes
between the calls. A phase's time includes one reading of the clock and one call of a Python function.

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
from stepmark.records.sample import Layout


def run_block(program: Program, iterations: Sequence[int], clock: Clock) -> tuple[int, ...]:
    """Nanoseconds of each phase of the layout, summed over its iterations."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with program.context():
            if program.prepare is None:
                return _batched(program.calls, iterations, clock)
            return _stepped(program, iterations[0], clock)
    finally:
        if was_enabled:
            gc.enable()


def _stepped(program: Program, iterations: int, clock: Clock) -> tuple[int, ...]:
    calls, prepare, mark = program.calls, program.prepare, clock.mark
    assert prepare is not None
    marks: list[Any] = []
    append = marks.append
    for _ in repeat(None, iterations):
        prepare()
        append(mark())
        for call in calls:
            append(mark())
            call()
            append(mark())
        append(mark())
    moments = clock.nanoseconds(marks)
    width = 2 * len(calls) + 2
    spans = [sum(moments[i + 1 :: width]) - sum(moments[i::width]) for i in range(1, width - 1, 2)]
    whole = sum(moments[width - 1 :: width]) - sum(moments[0::width])
    return _in_layout_order(program.layout, whole, spans)


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
