"""What the sampling loop itself costs: empty iterations, and its bias against a bare loop.

The bare loop, the batched loop (forward mode) and the stepped loop (a training step of one phase) run one
operation in one process, one block each in fresh random order; the bias is the median over rounds of the
logarithm of the ratio to the bare loop, with the interval of a sign test.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from itertools import repeat

import numpy as np
import torch

from stepmark.instruments.torch_clock import TorchInstrument
from stepmark.measure.program import Call, Program
from stepmark.measure.sampler import run_block
from stepmark.records.sample import Layout

ROUNDS = 2000
PHASES = ("forward", "loss", "backward", "optimizer")


def nothing() -> None:
    pass


def stepped(*calls: Call) -> Program:
    names = PHASES[: len(calls)]
    return Program(
        layout=Layout(phases=("step", *names), primary="step", whole="step"), calls=calls, prepare=nothing
    )


def batched(call: Call) -> Program:
    return Program(layout=Layout(phases=("forward",), primary="forward"), calls=(call,))


def main() -> None:
    torch.set_num_threads(1)
    clock = TorchInstrument()
    for name, program in {
        "empty training step, four phases": stepped(nothing, nothing, nothing, nothing),
        "empty training step, one phase": stepped(nothing),
        "empty forward": batched(nothing),
    }.items():
        iterations = (1000,) * len(program.layout.phases)
        costs = [run_block(program, iterations, clock)[0] / 1000 for _ in range(200)]
        print(f"{name:34} {np.median(costs) / 1e3:8.3f} µs per iteration")
    for target in (20e-6, 200e-6):
        _bias(_operation(target), clock)


def _operation(seconds: float) -> Call:
    """An operation of about this long that allocates nothing: a sine over a vector."""
    size = 1000
    while True:
        values = torch.randn(size)
        out = torch.empty_like(values)

        def call(values: torch.Tensor = values, out: torch.Tensor = out) -> object:
            return torch.sin(values, out=out)

        took = min(_bare(call, 100) for _ in range(20)) / 100 * 1e-9
        if took >= seconds:
            return call
        size = max(size + 100, int(size * min(2.0, seconds / took * 1.02)))


def _bare(call: Call, iterations: int) -> int:
    begin = time.perf_counter_ns()
    for _ in repeat(None, iterations):
        call()
    return time.perf_counter_ns() - begin


def _bias(call: Call, clock: TorchInstrument) -> None:
    once = min(_bare(call, 100) for _ in range(20)) / 100
    iterations = max(1, round(1e6 / once))
    in_steps, in_batch = stepped(call), batched(call)
    loops: dict[str, Callable[[], int]] = {
        "bare": lambda: _bare(call, iterations),
        "batched": lambda: run_block(in_batch, (iterations,), clock)[0],
        "stepped": lambda: run_block(in_steps, (iterations, iterations), clock)[0],
    }
    times: dict[str, list[int]] = {name: [] for name in loops}
    order = list(loops)
    shuffle = random.Random(0).shuffle
    for _ in range(ROUNDS):
        shuffle(order)
        for name in order:
            times[name].append(loops[name]())
    for name in ("batched", "stepped"):
        ratios = np.sort(np.log(np.array(times[name]) / np.array(times["bare"])))
        half = 1.96 * math.sqrt(len(ratios)) / 2
        low, high = ratios[int(len(ratios) / 2 - half)], ratios[int(len(ratios) / 2 + half)]
        label = f"{name} loop, {once / 1e3:.0f} µs operation"
        print(f"{label:34} {np.median(ratios):+8.2%} bias  [{low:+.2%}, {high:+.2%}]")


if __name__ == "__main__":
    main()
