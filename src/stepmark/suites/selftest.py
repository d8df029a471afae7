"""The self-test's workloads: pairs with a known difference, known work, known waits, a known allocation.

A slowdown is a loop of a counted number of empty turns after each call. `itertools.repeat` makes no integers
(a loop over `range` is cheaper below 257 turns, where CPython has its integers ready), and both sides run the
same code: the baseline does the loop with no turns. What a turn costs beside a call changes with the
machine's mood, so its price is measured inside the workload. On CUDA a turn is a cycle of a kernel that
spins, and a wait is such a kernel: known by the host's clock, which timed one of 50 ms (`cycles_a_second`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from itertools import repeat

import torch
from torch import nn
from torch.nn import functional

from stepmark.authoring.inputs import randn
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Ops, Step

Call = Callable[[], object]
CPU = torch.device("cpu")
LEAST_CYCLES = 1000
"""Of the baseline's spinning kernel, so that both sides launch the same."""
LONG_SPIN = 100_000_000
"""Cycles: some 50 ms, against which the host's wait for it is nothing."""


@cache
def cycles_a_second(device: torch.device) -> float:
    """By the host's clock, once the device's own has come up from its rest."""
    rates = [0.0, 1.0]
    while abs(rates[-1] / rates[-2] - 1.0 if rates[-2] else 1.0) > 0.001 and len(rates) < 12:
        torch.cuda.synchronize(device)
        begin = time.perf_counter()
        spin(device, LONG_SPIN)
        torch.cuda.synchronize(device)
        rates.append(LONG_SPIN / (time.perf_counter() - begin))
    return rates[-1]


def spin(device: torch.device, cycles: int) -> None:
    """A kernel that counts so many cycles."""
    with torch.cuda.device(device):
        torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]


def norm_softmax(device: torch.device = CPU) -> Call:
    """Layer norm and softmax of 64 x 512: some tens of microseconds, mostly overhead of calls. On CUDA of
    8192 x 4096, where it is memory traffic."""
    rows, columns = (64, 512) if device.type == "cpu" else (8192, 4096)
    x = torch.randn(rows, columns, device=device)
    norm = nn.LayerNorm(columns, device=device)

    def call() -> object:
        with torch.no_grad():
            return functional.softmax(norm(x), dim=-1)

    return call


def linear(device: torch.device = CPU) -> Call:
    """A linear layer of 256 x 256, forward, 64 rows: mostly arithmetic. On CUDA of 2048 x 2048, 2048 rows."""
    rows, width = (64, 256) if device.type == "cpu" else (2048, 2048)
    x = torch.randn(rows, width, device=device)
    layer = nn.Linear(width, width, device=device)

    def call() -> object:
        with torch.no_grad():
            return layer(x)

    return call


WORKLOADS: dict[str, Callable[[torch.device], Call]] = {"norm_softmax": norm_softmax, "linear": linear}

pairs = Suite(
    "selftest_pairs",
    axes={"workload": list(WORKLOADS), "turns": [0]},
    modes=["ops"],
    about="A workload against itself, with a counted number of empty turns after each call.",
)


def followed_by_turns(call: Call, turns: int, device: torch.device = CPU) -> Call:
    """The call, then that many empty turns, or cycles of the device."""
    if device.type != "cpu":

        def with_cycles() -> None:
            call()
            spin(device, LEAST_CYCLES + turns)

        return with_cycles

    def with_turns() -> None:
        call()
        for _ in repeat(None, turns):
            pass

    return with_turns


@pairs.variant(baseline=True)
def plain(c: Point) -> Ops:
    """No turns."""
    return Ops({"call": followed_by_turns(WORKLOADS[c.workload](c.device), 0, c.device)})


@pairs.variant
def other(c: Point) -> Ops:
    """As many turns as the point says."""
    return Ops({"call": followed_by_turns(WORKLOADS[c.workload](c.device), c.turns, c.device)})


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
    return Ops({"calls": repeated(linear(c.device), c.calls)})


@work.variant
def twice(c: Point) -> Ops:
    """Twice as many."""
    return Ops({"calls": repeated(linear(c.device), 2 * c.calls)})


waits = Suite(
    "selftest_waits", axes={"microseconds": [20, 200]}, modes=["ops"], about="A busy wait of known length."
)


@waits.variant(baseline=True)
def wait(c: Point) -> Ops:
    """Reads the clock until the time is over; the last reading comes up to one reading's cost too late. On
    CUDA a kernel that spins."""
    if c.device.type != "cpu":
        cycles = round(cycles_a_second(c.device) * c.microseconds * 1e-6)
        return Ops({"wait": lambda: spin(c.device, cycles)})
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
