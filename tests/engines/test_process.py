"""A worker seen from the runner, where no worker has to be started for it."""

from __future__ import annotations

import signal

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

    def start(self, descriptors: Descriptors) -> int:
        return 1 << 22

    def status(self, pid: int, wait: float) -> int | None:
        return None

    def signal(self, pid: int, number: int) -> None:
        self.signals.append(number)

    def close(self) -> None:
        pass


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
