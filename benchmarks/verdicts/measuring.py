"""Measuring: calibrate where that is missing, then rounds of comparisons until the time is over."""

from __future__ import annotations

import importlib.metadata
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.verdicts import calibration, raw_file
from benchmarks.verdicts.calibration import Price
from benchmarks.verdicts.conditions import WORKLOADS, all_conditions, chosen, remaining
from benchmarks.verdicts.crew import Crew
from benchmarks.verdicts.results import Condition, Ours, Result, Session, Trouble, Visit, round_of
from benchmarks.verdicts.section import threads_text
from benchmarks.verdicts.slot import Comparing, Pricing, Task
from stepmark.errors import UsageError
from stepmark.instruments.host_facts import host_facts

CALIBRATION_SHARE = 6.0
"""A workload is calibrated for as long as this many comparisons take."""
_PACKAGES = ("stepmark", "torch", "numpy", "scipy", "pyperf", "pytest-benchmark", "asv", "asv-runner")


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """What a call of `measure` was told."""

    out: Path
    minutes: float
    seconds: float = 10.0
    jobs: int = 1
    seed: int = 0
    only: tuple[str, ...] = ()


def calibrate_missing(told: Assignment, crew: Crew) -> list[Price]:
    """The prices there are, and those that were missing."""
    prices = calibration.read(told.out)
    there = {(price.workload, price.threads) for price in prices}
    conditions = _conditions(told)
    wanted = {(condition.workload, condition.threads) for condition in conditions}
    seconds = told.seconds * CALIBRATION_SHARE
    tasks = [
        Pricing(workload=workload, threads=threads, seconds=seconds, seed=told.seed)
        for workload in WORKLOADS
        for threads in (1, 2)
        if (workload, threads) in wanted - there
    ]

    def finished(_task: Task, price: Price | Result) -> None:
        assert isinstance(price, Price)
        prices.append(price)
        calibration.save(told.out, prices)
        call, turn = price.base_seconds * 1e6, price.turn.point * price.base_seconds * 1e9
        print(
            f"{price.workload}, {threads_text(price.threads)}: a call {call:.1f} µs, a turn {turn:.2f} ns",
            flush=True,
        )

    crew.work_off(iter(tasks), finished)
    return prices


def measure(told: Assignment, crew: Crew) -> None:
    """Round after round, each result appended at once; a second call goes on where the first ended."""
    there = raw_file.read(told.out)
    results = [line for line in there if not isinstance(line, Session)]
    _refuse_mixture(told, [line for line in there if isinstance(line, Session)])
    prices = {(price.workload, price.threads): price for price in calibrate_missing(told, crew)}
    session = _session(told)
    raw_file.append(told.out, session)
    deadline = time.monotonic() + told.minutes * 60.0
    display = _Display(deadline, len(results))

    def finished(_task: Task, result: Price | Result) -> None:
        assert not isinstance(result, Price)
        raw_file.append(told.out, result)
        display.show(result)

    done = [(round_of(result), result.condition.id) for result in results]
    crew.work_off(_tasks(told, prices, session.id, done, deadline), finished)


def _conditions(told: Assignment) -> dict[Condition, float]:
    conditions = chosen(all_conditions(), told.only)
    if not conditions:
        raise UsageError(
            f"no condition matches {', '.join(told.only)}",
            remedy="conditions read like stepmark/linear/1/quiet/0.05; * stands for anything",
        )
    return conditions


def _tasks(
    told: Assignment,
    prices: dict[tuple[str, int], Price],
    session: str,
    done: Sequence[tuple[int, str]],
    deadline: float,
) -> Iterator[Task]:
    conditions = _conditions(told)
    number = 0
    while True:
        for place, condition in enumerate(remaining(conditions, done, number, seed=told.seed)):
            if time.monotonic() >= deadline:
                return
            price = prices[condition.workload, condition.threads]
            yield Comparing(
                condition=condition,
                turns=price.turns(condition.effect),
                seconds=told.seconds,
                seed=_seed(told.seed, number, place, condition),
                session=session,
                round=number,
            )
        number += 1


def _seed(seed: int, number: int, place: int, condition: Condition) -> int:
    return Random(f"{seed}/{number}/{place}/{condition.id}").getrandbits(31)


def _session(told: Assignment) -> Session:
    host = host_facts()
    started = time.time()
    versions = {"Python": host.python.split()[-1]}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return Session(
        id=time.strftime("%Y%m%d-%H%M%S", time.gmtime(started)),
        started=started,
        cpu=host.cpu_model,
        cores=host.logical_cores,
        memory_bytes=host.memory_bytes,
        os=sys.platform,
        versions=versions,
        seconds=told.seconds,
        jobs=told.jobs,
        seed=told.seed,
    )


def _refuse_mixture(told: Assignment, sessions: Sequence[Session]) -> None:
    """Rounds are the same rounds only with the same seed, comparisons the same only with the same length."""
    for session in sessions:
        if (session.seed, session.seconds, session.cpu) != (told.seed, told.seconds, host_facts().cpu_model):
            raise UsageError(
                f"{told.out} was measured with seed {session.seed}, {session.seconds:g} s on {session.cpu}",
                remedy="go on with the same, or choose another --out",
            )


class _Display:
    """Two lines a result: time left and what it was, then what came out."""

    def __init__(self, deadline: float, done: int) -> None:
        self._deadline = deadline
        self._done = done

    def show(self, result: Result) -> None:
        self._done += 1
        left = max(0, round(self._deadline - time.monotonic()))
        print(f"{left // 60:3}:{left % 60:02} left  #{self._done:<5} {result.condition.id}", flush=True)
        print(f"             round {round_of(result):<4} {_found(result)}", flush=True)


def _found(result: Result) -> str:
    match result:
        case Ours(measured=found):
            return f"{found.verdict} {found.point:.4f}, {len(found.launches.centres)} launches"
        case Visit(sides=sides):
            return " ".join(f"{side.median * 1e6:.1f}" for side in sides) + " µs"
        case Trouble(message=message):
            return "came to nothing: " + message.splitlines()[-1][:60]
