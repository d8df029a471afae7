"""A slot: a process pinned to its own pair of cores that works off one task after the other."""

from __future__ import annotations

import os
import signal
import time
import traceback
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

from msgspec.structs import replace

from benchmarks.verdicts.bursts import bursts
from benchmarks.verdicts.calibration import Price, calibrate, price_now
from benchmarks.verdicts.ours import Engines, compare_ours
from benchmarks.verdicts.peers.visit import TOOLS, visit
from benchmarks.verdicts.results import (
    Condition,
    Load,
    Measured,
    Ours,
    Result,
    Surroundings,
    Trouble,
    Visit,
    short,
)
from stepmark.errors import Interrupted
from stepmark.instruments.host_facts import load_facts

PAIR = 2


@dataclass(frozen=True, kw_only=True)
class Pricing:
    """The task to calibrate one workload."""

    workload: str
    threads: int
    seconds: float
    seed: int


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """The task to compare two sides once."""

    condition: Condition
    turns: int
    seconds: float
    seed: int
    session: str
    round: int


Task = Pricing | Comparing


@dataclass(frozen=True)
class Broken:
    """A task that nothing came of, not even a line."""

    message: str


def pairs_of_cores(available: set[int]) -> list[tuple[int, ...]]:
    """Cores in twos, hyper-threads of one core together, so that no two slots share a core."""
    ordered = sorted(available, key=lambda core: (_first_sibling(core), core))
    pairs = [tuple(ordered[i : i + PAIR]) for i in range(0, len(ordered), PAIR)]
    return [pair for pair in pairs if len(pair) == PAIR] or pairs


def _first_sibling(core: int) -> int:
    path = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
    try:
        return int(path.read_text().replace("-", ",").split(",")[0])
    except (OSError, ValueError):
        return core


def serve(tasks: Connection, cores: tuple[int, ...]) -> None:
    """Work off tasks until None comes, or the study that gave them has gone."""
    os.setsid()  # Ctrl-C is for the study, which ends its slots
    signal.signal(signal.SIGTERM, _leave)
    os.sched_setaffinity(0, cores)
    with Engines() as engines, suppress(EOFError, BrokenPipeError, Interrupted):
        while (task := tasks.recv()) is not None:
            try:
                tasks.send(_perform(task, engines, cores))
            except (BrokenPipeError, Interrupted):
                raise
            except Exception as error:  # the study ends here, with these words
                tasks.send(Broken(f"{type(error).__name__}: {error}"))


def _leave(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit


def _perform(task: Task, engines: Engines, cores: tuple[int, ...]) -> Price | Result:
    match task:
        case Pricing():
            return calibrate(
                task.workload, threads=task.threads, seconds=task.seconds, seed=task.seed, engines=engines
            )
        case Comparing():
            try:
                return _compare(task, engines, cores)
            except Interrupted:
                raise
            except Exception:  # whatever went wrong is a result of its own
                last = traceback.format_exc().strip()[-1000:]
                return Trouble(condition=task.condition, round=task.round, message=last)


def _ours(task: Comparing, engines: Engines, *, turns: int) -> Measured:
    return compare_ours(task.condition, turns=turns, seconds=task.seconds, seed=task.seed, engines=engines)


def _slowed(task: Comparing, engines: Engines) -> Measured:
    turn, turns = _dose(task, engines)
    return replace(_ours(task, engines, turns=turns), turn=short(turn))


def _dose(task: Comparing, engines: Engines) -> tuple[float, int]:
    """The price that a turn has now, and how many make the effect by it."""
    condition = task.condition
    about = condition.effect / task.turns
    turn = price_now(
        condition.workload, threads=condition.threads, about=about, seed=task.seed + 1, engines=engines
    )
    return turn, max(1, round(condition.effect / turn)) if turn > 0.0 else task.turns


def _compare(task: Comparing, engines: Engines, cores: tuple[int, ...]) -> Result:
    condition = task.condition
    before, started, begin = load_facts(), time.time(), time.perf_counter()
    with ExitStack() as stack:
        bursting = condition.load is Load.BURSTS
        stack.enter_context(bursts(str(task.seed)) if bursting else nullcontext())
        if condition.tool in TOOLS:
            _, turns = _dose(task, engines)
            sides = visit(condition, turns=turns, seconds=task.seconds, seed=task.seed)
        else:
            measured = _slowed(task, engines) if condition.effect else _ours(task, engines, turns=0)
    surroundings = Surroundings(
        session=task.session,
        round=task.round,
        started=started,
        seconds=time.perf_counter() - begin,
        before=before,
        after=load_facts(),
        cores=cores,
    )
    if condition.tool in TOOLS:
        return Visit(condition=condition, surroundings=surroundings, sides=sides)
    return Ours(condition=condition, surroundings=surroundings, measured=measured)
