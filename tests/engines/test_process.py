"""A worker seen from the runner, where no worker has to be started for it."""

from __future__ import annotations

import signal
from types import SimpleNamespace

import pytest

from stepmark.engines import process
from stepmark.engines.process import Descriptors, WorkerProcess
from stepmark.measure.requests import MeasureCeilings
from stepmark.records.outcome import Cause, Outcome


class Unending:
    """Workers that a hanging device keeps: no signal ends them."""

    name = "unending"

    def __init__(self) -> None:
        self.signals: list[int] = []

    def start(self, descriptors: Descriptors, *, stands_by: bool = False) -> int:
        return 1 << 22

    def called_up(self, pid: int) -> None:
        pass

    def status(self, pid: int, wait: float) -> int | None:
        return None

    def signal(self, pid: int, number: int) -> None:
        self.signals.append(number)

    def close(self) -> None:
        pass


def test_time_in_which_nobody_looked_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container that is frozen for an hour freezes the runner and the worker alike."""
    now = [0.0]
    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: now[0]))
    nursery = Unending()
    worker = WorkerProcess(nursery, MeasureCeilings(device="cpu", threads=1), timeout=20.0)
    for passed in (1.0, 3600.0, 1.0, 1.0, 3600.0):
        now[0] += passed
        assert not worker.watch(0.0)
    assert nursery.signals == []
    monkeypatch.setattr(process, "_LAST_PATIENCE", 0.0)
    for _ in range(20):
        now[0] += 1.0
        worker.watch(0.0)
    assert nursery.signals == [signal.SIGABRT, signal.SIGKILL]
    worker.close()


def test_a_process_that_cannot_be_ended_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_LAST_PATIENCE", 0.0)
    nursery, ticks = Unending(), iter(range(10_000))
    worker = WorkerProcess(nursery, MeasureCeilings(device="cuda", threads=1), timeout=0.0)
    worker.join(lambda: None if next(ticks) < 5000 else pytest.fail("waits for ever"))
    death = worker.death()
    worker.close()
    assert death is not None
    assert (death.outcome, death.cause) == (Outcome.TIMED_OUT, Cause.HANG)
    assert nursery.signals == [signal.SIGABRT, signal.SIGKILL]
