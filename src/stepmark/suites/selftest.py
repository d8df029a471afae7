"""The self-test's workloads: pairs with a known difference, known work, known waits, a known allocation.

A slowdown is a loop of a counted number of empty turns after each call. `itertools.repeat` makes no integers
(a loop over `range` is cheaper below 257 turns, where CPython has its integers ready), and both sides run the
same code: the baseline does the loop with no turns. What a turn costs beside a call changes with the
machine's mood, so its price is measured inside the workload.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import repeat

import torch
from torch import nn
from torch.nn import functional

from stepmark.authoring.inputs import randn
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Ops, Step

Call = Callable[[], object]


def norm_softmax() -> Call:
    """Layer norm and softmax of 64 x 512: some tens of microseconds, mostly overhead of calls."""
    x = torch.randn(64, 512)
    norm = nn.LayerNorm(512)

    def call() -> object:
        with torch.no_grad():
            return functional.softmax(norm(x), dim=-1)

    return call


def linear() -> Call:
    """A linear layer of 256 x 256, forward, 64 rows: mostly arithmetic."""
    x = torch.randn(64, 256)
    layer = nn.Linear(256, 256)

    def call() -> object:
        with torch.no_grad():
            return layer(x)

    return call


WORKLOADS: dict[str, Callable[[], Call]] = {"norm_softmax": norm_softmax, "linear": linear}

pairs = Suite(
    "selftest_pairs",
    axes={"workload": list(WORKLOADS), "turns": [0]},
    modes=["ops"],
    about="A workload against itself, with a counted number of empty turns after each call.",
)


def followed_by_turns(call: Call, turns: int) -> Call:
    """The call, then that many empty turns."""

    def with_turns() -> None:
        call()
        for _ in repeat(None, turns):
            pass

    return with_turns


@pairs.variant(baseline=True)
def plain(c: Point) -> Ops:
    """No turns."""
    return Ops({"call": followed_by_turns(WORKLOADS[c.workload](), 0)})


@pairs.variant
def other(c: Point) -> Ops:
    """As many turns as the point says."""
    return Ops({"call": followed_by_turns(WORKLOADS[c.workload](), c.turns)})


work = Suite(
    "selftest_work", axes={"calls": [4]}, modes=["ops"], about="The same calls, once and twice over."
)


def repeated(call: Call, number: int) -> Call:
    def calls() -> None:
        for _ in repeat(None, number):
            call()

    return calls


@work.variant(baseline=True)
def once(c: Point) -> Ops:
    """So many calls."""
    return Ops({"calls": repeated(linear(), c.calls)})


@work.variant
def twice(c: Point) -> Ops:
    """Twice as many."""
    return Ops({"calls": repeated(linear(), 2 * c.calls)})


waits = Suite(
    "selftest_waits", axes={"microseconds": [20, 200]}, modes=["ops"], about="A busy wait of known length."
)


@waits.variant(baseline=True)
def wait(c: Point) -> Ops:
    """Reads the clock until the time is over; the last reading comes up to one reading's cost too late."""
    length = c.microseconds * 1000
    now = time.perf_counter_ns

    def until_over() -> None:
        end = now() + length
        while now() < end:
            pass

    return Ops({"wait": until_over})


allocation = Suite(
    "selftest_allocation", axes={"mebibytes": [64]}, modes=["forward"], about="Memory of known size."
)


@allocation.variant(baseline=True)
def without(c: Point) -> Step:  # noqa: ARG001
    """Nothing is allocated beyond the input."""
    return Step(lambda x: x + 1.0, inputs=randn(8))


@allocation.variant(name="with")
def with_allocation(c: Point) -> Step:
    """Every byte is written, so that the system must provide it."""
    number = (c.mebibytes << 20) // 4

    def allocate(x: torch.Tensor) -> torch.Tensor:
        return x + torch.ones(number)[0]

    return Step(allocate, inputs=randn(8))
