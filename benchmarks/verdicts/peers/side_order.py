"""What a peer's process is told, by an environment variable, and what it answers, on its last line."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence

import msgspec

from stepmark.records.record import Record

VARIABLE = "STUDY_SIDE"


class SideOrder(Record, frozen=True, kw_only=True):
    """One side to measure."""

    workload: str
    turns: int
    threads: int
    seconds: float
    """Of measuring and warming up."""


class Answer(Record, frozen=True, kw_only=True):
    """The tool's statistics, in seconds per call."""

    minimum: float
    median: float
    mean: float
    num: int
    measuring: float
    values: tuple[float, ...] = ()


def order() -> SideOrder:
    return msgspec.json.decode(os.environ[VARIABLE], type=SideOrder)


def build(side: SideOrder) -> Callable[[], object]:
    """The call to be measured; imports torch."""
    import torch

    from benchmarks.verdicts.workloads import WORKLOADS
    from stepmark.suites.selftest import followed_by_turns

    torch.set_num_threads(side.threads)
    return followed_by_turns(WORKLOADS[side.workload](), side.turns)


def of_values(values: Sequence[float], *, measuring: float, kept: bool) -> Answer:
    """The usual statistics of the tool's values, which are kept where its rule needs them."""
    return Answer(
        minimum=min(values),
        median=statistics.median(values),
        mean=statistics.fmean(values),
        num=len(values),
        measuring=measuring,
        values=tuple(values) if kept else (),
    )


def answer(found: Answer) -> None:
    print("\n" + msgspec.json.encode(found).decode(), flush=True)
