"""Why blocks are short and iterations written out: two small measurements behind measure/.

Block length: two instances of one layer (forward and backward) interleaved in random order for some seconds;
the standard error of the median log-ratio, for blocks of 1, 4 and 16 steps in the same time.
Glue: the time of a training step that none of its phases explains, with the readings collected by a loop and
with the iteration written out.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from stepmark.authoring.load import load
from stepmark.instruments.torch_binding import bind
from stepmark.measure.program import Call, Program
from stepmark.measure.written_out import written_out
from stepmark.records.case import Case, Cell
from stepmark.records.source import BuiltinSource

SECONDS = 3.0


def demo_step(features: int, seed: int) -> Program:
    (suite,) = load(BuiltinSource(name="demo"))
    case = Case(variant="dense", cell=Cell(suite="demo", axes=(("features", features),)))
    return bind(suite.variants["dense"], case, seed=seed)


def main() -> None:
    torch.set_num_threads(1)
    lanes = [demo_step(256, seed) for seed in (1, 2)]
    for lane in lanes * 200:
        lane.iterate()
    for steps in (1, 4, 16):
        ratios = _interleave(lanes, steps)
        spread = 1.4826 * np.median(np.abs(ratios - np.median(ratios)))
        error = 1.2533 * spread / np.sqrt(len(ratios))
        print(
            f"blocks of {steps:2} steps: standard error {error:.2%} of {len(ratios)} rounds in {SECONDS:g} s"
        )
    program = demo_step(512, 3)
    ways = {"collected by a loop": looped, "written out": written_out(len(program.calls)).apart}
    for name, glue in _glue(program, ways).items():
        print(f"a step of four phases, readings {name}: {glue:.1f} µs that no phase explains")


def _interleave(lanes: Sequence[Program], steps: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    whole = written_out(len(lanes[0].calls)).whole
    shuffle = random.Random(0)
    ratios = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        spent = [0, 0]
        for lane in shuffle.sample((0, 1), 2):
            for _ in range(steps):
                lanes[lane].prepare()  # type: ignore[misc]
                begin, stop = whole(lanes[lane].calls, time.perf_counter_ns)
                spent[lane] += stop - begin
        ratios.append(np.log(spent[1] / spent[0]))
    return np.array(ratios)


def looped(calls: Sequence[Call], mark: Call) -> tuple[Any, ...]:
    begin = mark()
    marks: list[Any] = []
    for call in calls:
        before = mark()
        call()
        after = mark()
        marks += (before, after)
    return begin, *marks, mark()


def _glue(program: Program, ways: dict[str, Callable[..., tuple[Any, ...]]]) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(600):
        for name in random.sample(list(ways), len(ways)):
            program.prepare()  # type: ignore[misc]
            first, *inner, last = ways[name](program.calls, time.perf_counter_ns)
            found[name].append((last - first - sum(inner[1::2]) + sum(inner[::2])) / 1e3)
    return {name: float(np.median(values)) for name, values in found.items()}


if __name__ == "__main__":
    main()
