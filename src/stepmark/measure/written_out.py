"""Iterations written out, phase after phase, without a loop: for each number of phases its own function.

Between two phases the caches hold the last phase's data, and every line of Python there runs cold: of a step
with four phases a loop that collected the readings in a list took 5.3 µs, the same written out 1.2 µs
(`python -m benchmarks.blocks`; 2-core Xeon virtual machine, torch 2.13, 2026-11-15).
For two phases the functions are

    def whole(calls, mark):                def apart(calls, mark):
        c0, c1 = calls                         c0, c1 = calls
        begin = mark()                         begin = mark()
        c0()                                   b0 = mark(); c0(); e0 = mark()
        c1()                                   b1 = mark(); c1(); e1 = mark()
        end = mark()                           end = mark()
        return begin, end                      return begin, b0, e0, b1, e1, end

    def chained(calls, mark):
        c0, c1 = calls
        begin = mark()
        c0(); e0 = mark()
        c1(); end = mark()
        return begin, e0, end

`chained` is for clocks whose readings are dear: recording an event takes half as long as launching a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from stepmark.measure.program import Call

Iteration = Callable[[Sequence[Call], Call], tuple[Any, ...]]
"""Given the calls of the phases and the clock's mark: runs them once and returns the marks."""


class WrittenOut(NamedTuple):
    """The ways to time one iteration."""

    whole: Iteration
    """A reading before the first phase and one after the last."""
    apart: Iteration
    """The same, and inside it a reading before and after every phase."""
    chained: Iteration
    """A reading before the first phase and one after each: where one phase ends the next begins."""


@cache
def written_out(num_phases: int) -> WrittenOut:
    """The functions for this many phases."""
    phases = range(num_phases)
    whole = [f"c{i}()" for i in phases]
    apart = [f"b{i} = mark(); c{i}(); e{i} = mark()" for i in phases]
    inner = [mark for i in phases for mark in (f"b{i}", f"e{i}")]
    return WrittenOut(
        whole=_define(num_phases, whole, ["begin", "end"]),
        apart=_define(num_phases, apart, ["begin", *inner, "end"]),
        chained=_define(
            num_phases,
            [*(f"c{i}(); e{i} = mark()" for i in phases[:-1]), f"c{num_phases - 1}()"],
            ["begin", *(f"e{i}" for i in phases[:-1]), "end"],
        ),
    )


def _define(num_phases: int, body: list[str], marks: list[str]) -> Iteration:
    unpacking = "".join(f"c{i}, " for i in range(num_phases)) + "= calls"
    lines = [unpacking, "begin = mark()", *body, "end = mark()", f"return {', '.join(marks)}"]
    source = "def iteration(calls, mark):\n" + "\n".join(f"    {line}" for line in lines)
    names: dict[str, Any] = {}
    exec(source, names)
    defined: Iteration = names["iteration"]
    return defined
