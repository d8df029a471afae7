"""Other threads: processor time that they go on to spend after a phase has returned.

Threads of OpenMP spin for some milliseconds after every parallel region. Those of this thread's own team are
learnt from a parallel operation and left out. A team of another thread cannot be told from work at first
sight: of threads that Python did not start, only what exceeds a spin counts. The clock of the whole process
counts threads that have ended as well. Where the kernel has no clocks of single threads, nothing is said.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path

import torch

_TASKS = Path("/proc/self/task")
WAIT = 0.005
"""Seconds to look on at least."""
MOST = 0.050
"""And at most."""
_BUSY = 0.2
"""Share of a look in which threads worked, from which on it is worth going on."""
_WORTH_ASKING = 0.0005
_SPIN_MARGIN = 1.5
_PARALLEL_ELEMENTS = 1 << 18
"""torch shares loops over more than 32768 elements among its threads."""


class OtherThreads:
    """The threads of this process but the one that asks, and OpenMP's."""

    def __init__(self) -> None:
        self._readable = _has_clocks()
        self._spinning: set[int] = set()
        self._spin = 0.0
        if self._readable and self._waited_until_quiet():
            self._learn()

    def outstanding(self) -> float:
        """Seconds that other threads spend from now on, as far as the look goes."""
        if not self._readable:
            return 0.0
        before, begin = _clocks(), _others()
        quiet = self._waited_until_quiet()
        total, after = _others() - begin, _clocks()
        worked = self._worked(total, before, after)
        if worked < _WORTH_ASKING or not quiet:
            return worked
        self._learn()  # the phase may have made threads of OpenMP of its own
        return self._worked(total, before, after)

    def _worked(self, total: float, before: Mapping[int, float], after: Mapping[int, float]) -> float:
        """What threads spent that neither spun nor may have spun, and what is left of the total for threads
        that ended. The threads' clocks are read around the total's: with many spinning threads too little
        is left rather than too much."""
        of_python = _of_python()
        spent = {task: clock - before.get(task, 0.0) for task, clock in after.items()}
        worked = max(0.0, total - sum(spent.values()))
        for task in spent.keys() - self._spinning:
            forgiven = 0.0 if task in of_python else _SPIN_MARGIN * self._spin
            worked += max(0.0, spent[task] - forgiven)
        return worked

    def _waited_until_quiet(self) -> bool:
        end = time.perf_counter() + MOST
        while True:
            before, begin, now = _clocks(), _others(), time.perf_counter()
            time.sleep(WAIT)
            after = _clocks()
            spun = sum(after.get(task, 0.0) - before.get(task, 0.0) for task in self._spinning)
            idle = _others() - begin - spun < _BUSY * (time.perf_counter() - now)
            if idle and not any(_is_runnable(task) for task in after.keys() - self._spinning):
                return True
            if time.perf_counter() >= end:
                return False

    def _learn(self) -> None:
        values, square = torch.ones(_PARALLEL_ELEMENTS), torch.ones(96, 96)
        before = _clocks()
        values.add_(1.0)
        square.mm(square)
        done = _clocks()
        worked = {task for task, clock in done.items() if clock > before.get(task, 0.0)}
        self._spinning |= worked - _of_python()
        self._waited_until_quiet()
        time.sleep(WAIT)
        after = _clocks()
        spins = [after[task] - done[task] for task in self._spinning if task in after and task in done]
        self._spin = max([self._spin, *spins])


def _has_clocks() -> bool:
    try:
        time.clock_gettime(_clock_of(threading.get_native_id()))
    except OSError:
        return False
    return _TASKS.exists()


def _of_python() -> set[int | None]:
    return {one.native_id for one in threading.enumerate()}


def _is_runnable(task: int) -> bool:
    """Whether a thread runs or waits for a core: on a busy machine it may not have had its turn yet."""
    try:
        state = (_TASKS / str(task) / "stat").read_text()
    except OSError:
        return False
    return state.rpartition(") ")[2].startswith("R")


def _others() -> float:
    return time.process_time() - time.thread_time()


def _clocks() -> dict[int, float]:
    """Seconds on a processor of every other thread."""
    found: dict[int, float] = {}
    here = threading.get_native_id()
    for task in _TASKS.iterdir():
        number = int(task.name)
        if number == here:
            continue
        try:
            found[number] = time.clock_gettime(_clock_of(number))
        except OSError:  # it ended meanwhile
            continue
    return found


def _clock_of(task: int) -> int:
    """Linux's number for the clock of a thread (include/linux/posix-timers.h): its complement, shifted, with
    the marks of a single thread and of the scheduler's time."""
    return (~task << 3) | 0b110
