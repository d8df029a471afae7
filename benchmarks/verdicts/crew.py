"""The crew: as many slots as there are jobs, handed tasks until none is left or the time is over."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from benchmarks.verdicts.calibration import Price
from benchmarks.verdicts.results import Result
from benchmarks.verdicts.slot import PAIR, Broken, Task, pairs_of_cores, serve
from stepmark.errors import EngineError, UsageError

Finished = Callable[[Task, Price | Result], None]


class Crew:
    """Slots that wait for tasks."""

    def __init__(self, slots: dict[Connection, BaseProcess]) -> None:
        self._slots = slots

    def work_off(self, tasks: Iterator[Task], finished: Finished) -> None:
        """Every slot always has a task; the iterator ends when no more should begin."""
        busy: dict[Connection, Task] = {}
        for slot in self._slots:
            _hand(slot, tasks, busy)
        while busy:
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                found = ready.recv()
                if isinstance(found, Broken):
                    raise EngineError(f"{busy[ready]} failed", remedy=found.message)
                finished(busy.pop(ready), found)
                _hand(ready, tasks, busy)


def _hand(slot: Connection, tasks: Iterator[Task], busy: dict[Connection, Task]) -> None:
    task = next(tasks, None)
    if task is not None:
        slot.send(task)
        busy[slot] = task


@contextmanager
def crew(jobs: int) -> Iterator[Crew]:
    """Slots on their own pairs of cores; whatever happens, none outlives the block."""
    pairs = pairs_of_cores(os.sched_getaffinity(0))
    if jobs > len(pairs):
        raise UsageError(
            f"{jobs} jobs need {jobs * PAIR} cores, and there are {len(os.sched_getaffinity(0))}",
            remedy=f"--jobs {len(pairs)} is the most here",
        )
    context = multiprocessing.get_context("spawn")
    slots: dict[Connection, BaseProcess] = {}
    try:
        for cores in pairs[:jobs]:
            here, there = context.Pipe()
            process = context.Process(target=serve, args=(there, cores))
            process.start()
            there.close()
            slots[here] = process
        yield Crew(slots)
        for slot in slots:
            slot.send(None)
        for slot_process in slots.values():
            slot_process.join(30)
    finally:
        for slot, slot_process in slots.items():
            slot.close()
            slot_process.terminate()
        for slot_process in slots.values():
            slot_process.join()
