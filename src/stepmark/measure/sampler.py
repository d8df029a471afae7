"""The sampling loop: runs one block and returns the time of each phase.

Timing model
------------
A program with a whole (a training step) is timed iteration by iteration, m being one reading of the clock.
Half of a block's iterations are timed whole and half are taken apart, so that the readings between the phases
cannot lengthen the step that is reported. Who comes first changes from pair to pair and from block to block,
as the first iterations of a block are slower (`python -m benchmarks.in_turn`):

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

On a device with a queue (CUDA) a reading is an event that waits in line with the kernels. The device is
idle when a block begins and is waited for when it has ended, and not in between: the lead-in, untimed, fills
the queue, and the timed iterations follow it as they would in a training loop. Recording an event takes the
host half as long as launching a kernel, so the phases of a step share the readings between them, and a step
is timed whole and apart in turn unless it is long (lane.py):

    begin    lead-in    m  forward() ... optimizer()  m    prepare()    m forward() m loss() m ... m    end

Where caches are to be cold they are flushed before each iteration of a whole, and a batch is taken apart into
single calls, each after a flush: flush()  m  call()  m. The flush occupies the device while the host enqueues
what follows, so these times are the device's alone.

Garbage collection is off inside a block and on between blocks, so that a collection never falls into a clock.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, pairwise, repeat
from typing import Any, NamedTuple

from stepmark.measure.instrument import Clock
from stepmark.measure.program import Call, Program
from stepmark.measure.written_out import written_out
from stepmark.records.sample import Layout

FEW = 20
"""Iterations in which the cost of a dear clock is measured: every one of them may need a dozen events."""


class Block(NamedTuple):
    """One block, phase by phase of the layout."""

    nanoseconds: tuple[int, ...]
    """Summed over its iterations."""
    host: tuple[int, ...] = ()
    """The host's time for the same; empty where it does the work itself."""
    lag: tuple[int, ...] = ()
    """How far the device was behind the host at the phase's end, a mean over iterations; empty likewise."""


class Spans(NamedTuple):
    """Where a phase begins and ends among the marks."""

    begins: slice
    ends: slice


def run_block(program: Program, iterations: Sequence[int], clock: Clock) -> tuple[int, ...]:
    """Nanoseconds of each phase of the layout, summed over its iterations."""
    return take_block(program, iterations, clock).nanoseconds


def take_block(
    program: Program,
    iterations: Sequence[int],
    clock: Clock,
    *,
    lead_in: int = 0,
    in_turn: bool = False,
    whole_first: bool = True,
) -> Block:
    """A block after `lead_in` untimed iterations; `in_turn` times the whole apart from its phases even where
    the block is a single iteration. What of both is `whole_first` decides."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with program.context():
            clock.begin()
            for _ in repeat(None, lead_in):
                program.iterate_inside()
            times = program.times  # a first call captures what later ones do many times
            marks, spans = _timed(program, iterations, clock, in_turn=in_turn, whole_first=whole_first)
            return _of_single_calls(_read(clock, marks, spans), times)
    finally:
        if was_enabled:
            gc.enable()


def _timed(
    program: Program, iterations: Sequence[int], clock: Clock, *, in_turn: bool, whole_first: bool
) -> tuple[list[Any], list[Spans]]:
    if program.prepare is None:
        if program.flush is None:
            return _batched(program.calls, iterations, clock)
        return _one_by_one(program.calls, program.flush, iterations, clock)
    if iterations[0] == 1 and not in_turn:
        return _stepped_once(program, program.prepare, clock)
    # What is asked of a device waits in its queue: who comes first there is as warm as who comes next.
    order = (True, True) if clock.queues else (whole_first, not whole_first)
    return _stepped_in_turn(program, program.prepare, clock, order, iterations[0])


def _read(clock: Clock, marks: list[Any], spans: list[Spans]) -> Block:
    moments = clock.nanoseconds(marks)
    totals = tuple(sum(moments[ends]) - sum(moments[begins]) for begins, ends in spans)
    if not clock.queues:
        return Block(totals)
    host = clock.host_nanoseconds(marks)
    lags = [device - asked for device, asked in zip(moments, host, strict=True)]
    return Block(
        nanoseconds=totals,
        host=tuple(sum(host[ends]) - sum(host[begins]) for begins, ends in spans),
        lag=tuple(round(sum(lags[ends]) / len(lags[ends])) for _, ends in spans),
    )


def _of_single_calls(block: Block, times: tuple[int, ...]) -> Block:
    """Where a call does something several times, the time of doing it once."""
    if max(times) == 1:
        return block
    return Block(
        nanoseconds=tuple(round(each / n) for each, n in zip(block.nanoseconds, times, strict=True)),
        host=tuple(round(each / n) for each, n in zip(block.host, times, strict=False)),
        lag=block.lag,
    )


def _stepped_once(program: Program, prepare: Call, clock: Clock) -> tuple[list[Any], list[Spans]]:
    """One iteration gives the whole and its phases."""
    num = len(program.calls)
    prepare()
    if program.flush is not None:
        program.flush()
    whole = Spans(slice(0, 1), slice(-1, None))
    if clock.queues:
        marks = written_out(num).chained(program.calls, clock.mark)
        return [*marks], _in_layout_order(program.layout, whole, [_at(i, i + 1) for i in range(num)])
    marks = written_out(num).apart(program.calls, clock.mark)
    spans = [_at(2 * i + 1, 2 * i + 2) for i in range(num)]
    return [*marks], _in_layout_order(program.layout, whole, spans)


def _stepped_in_turn(
    program: Program, prepare: Call, clock: Clock, whole_first: tuple[bool, bool], iterations: int
) -> tuple[list[Any], list[Spans]]:
    """An iteration timed whole and one taken apart, and so on; which of them comes first in the first such
    pair, and in the second, and so on in turn."""
    calls, mark, flush, queues = program.calls, clock.mark, program.flush, clock.queues
    whole, apart, chained = written_out(len(calls))
    outer: list[Any] = []
    inner: list[Any] = []
    for pair in range(iterations):
        first = whole_first[pair % 2]
        for is_whole in (first, not first):
            prepare()
            if flush is not None:
                flush()
            if is_whole:
                outer += whole(calls, mark)
            else:
                inner += chained(calls, mark) if queues else apart(calls, mark)[1:-1]
    start, width = len(outer), len(inner) // iterations
    step = 1 if queues else 2
    spans = [
        Spans(slice(begin, None, width), slice(begin + 1, None, width))
        for begin in range(start, start + step * len(calls), step)
    ]
    around = Spans(slice(0, start, 2), slice(1, start, 2))
    return [*outer, *inner], _in_layout_order(program.layout, around, spans)


def _at(begin: int, end: int) -> Spans:
    return Spans(slice(begin, begin + 1), slice(end, end + 1))


def _in_layout_order(layout: Layout, whole: Spans, spans: list[Spans]) -> list[Spans]:
    rest: Iterator[Spans] = iter(spans)
    return [whole if phase == layout.whole else next(rest) for phase in layout.phases]


def _batched(calls: Sequence[Call], iterations: Sequence[int], clock: Clock) -> tuple[list[Any], list[Spans]]:
    mark = clock.mark
    marks: list[Any] = []
    for call, count in zip(calls, iterations, strict=True):
        begin = mark()
        for _ in repeat(None, count):
            call()
        end = mark()
        marks += (begin, end)
    return marks, [_at(2 * i, 2 * i + 1) for i in range(len(calls))]


def _one_by_one(
    calls: Sequence[Call], flush: Call, iterations: Sequence[int], clock: Clock
) -> tuple[list[Any], list[Spans]]:
    mark = clock.mark
    marks: list[Any] = []
    for call in chain.from_iterable(map(repeat, calls, iterations)):
        flush()
        begin = mark()
        call()
        end = mark()
        marks += (begin, end)
    bounds = [0, *accumulate(2 * count for count in iterations)]
    return marks, [
        Spans(slice(start, stop, 2), slice(start + 1, stop, 2)) for start, stop in pairwise(bounds)
    ]


def _nothing() -> None:
    pass


def clock_cost(program: Program, clock: Clock, *, iterations: int = 200) -> float:
    """Seconds the loop itself adds to one iteration: the same program with empty phases. Of a clock that
    queues it is an upper limit: a device that has work does not wait for the host's part of a reading. A
    call that does several times what it does has one cost for all."""
    empty = Program(
        layout=program.layout,
        calls=(_nothing,) * len(program.calls),
        prepare=_nothing if program.prepare is not None else None,
        flush=program.flush,
        flush_seconds=program.flush_seconds,
    )
    if clock.queues and (program.prepare is not None or program.flush is not None):
        iterations = min(iterations, FEW)
    of_calls = run_block(empty, (iterations,) * len(program.layout.phases), clock)
    totals = [total / times for total, times in zip(of_calls, program.times, strict=True)]
    whole = program.layout.whole
    spent = totals[program.layout.phases.index(whole)] if whole is not None else sum(totals)
    return spent / iterations * 1e-9
