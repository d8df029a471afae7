"""A visit: a peer measures the base three times and then slowed, each side in fresh processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

import msgspec

from benchmarks.verdicts.peers.side_order import VARIABLE, Answer, SideOrder
from benchmarks.verdicts.results import Condition, Side, short
from stepmark.engines.local import worker_environment

ROOT = Path(__file__).parents[3]
PATIENCE = 300.0
"""Seconds a side may take beyond its time: pyperf imports torch a dozen times."""


@dataclass(frozen=True)
class Tool:
    """How a peer is run."""

    module: str
    processes: int = 1
    """One after the other, sharing the time and putting their values together."""


TOOLS = {
    "pyperf": Tool("pyperf_side"),
    "pytest-benchmark": Tool("pytest_side"),
    "torch.utils.benchmark": Tool("torch_side"),
    "asv": Tool("asv_side", processes=2),
    "criterion": Tool("criterion_side"),
}


def visit(condition: Condition, *, turns: int, seconds: float, seed: int) -> tuple[Side, ...]:
    """Base three times, then slowed, or backwards; a comparison of two sides has `seconds` of measuring."""
    doses = [(0.0, 0)] * 3 + [(condition.effect, turns)]
    if Random(seed).random() < 0.5:
        doses.reverse()
    return tuple(
        measure_side(condition, effect=effect, turns=num, seconds=seconds / 2.0) for effect, num in doses
    )


def neighbours(sides: Sequence[Side]) -> list[tuple[Side, Side]]:
    """Old and new of each comparison in a visit: neighbours in time; the slowed one is always the new one."""
    pairs = pairwise(sides)
    return [(first, second) if first.effect <= second.effect else (second, first) for first, second in pairs]


def measure_side(condition: Condition, *, effect: float, turns: int, seconds: float) -> Side:
    """One side by the tool of the condition, in fresh processes."""
    tool = TOOLS[condition.tool]
    order = SideOrder(
        workload=condition.workload,
        turns=turns,
        threads=condition.threads,
        seconds=seconds / tool.processes,
    )
    answers = [_ask(tool, order) for _ in range(tool.processes)]
    whole = answers[0] if len(answers) == 1 else _together(answers)
    return Side(
        effect=effect,
        turns=turns,
        minimum=short(whole.minimum),
        median=short(whole.median),
        mean=short(whole.mean),
        num=whole.num,
        measuring=short(whole.measuring),
        values=tuple(short(value) for value in whole.values),
    )


def _ask(tool: Tool, order: SideOrder) -> Answer:
    environment = worker_environment(order.threads) | {
        VARIABLE: msgspec.json.encode(order).decode(),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.verdicts.peers.{tool.module}"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=order.seconds + PATIENCE,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{tool.module} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return msgspec.json.decode(done.stdout.strip().splitlines()[-1], type=Answer)


def _together(answers: Sequence[Answer]) -> Answer:
    values = [value for answer in answers for value in answer.values]
    return Answer(
        minimum=min(values),
        median=statistics.median(values),
        mean=statistics.fmean(values),
        num=len(values),
        measuring=sum(answer.measuring for answer in answers),
        values=tuple(values),
    )
