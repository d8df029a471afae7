"""Upkeep: finished runs are summarized in the background, and a store that refuses is asked again."""

from __future__ import annotations

from threading import Event

import pytest

from stepmark import keeping
from stepmark.errors import StoreError
from stepmark.store.store import Store
from stepmark.web import upkeep
from tests.support.served import begin_running, served_run


def test_what_is_finished_is_summarized_and_what_runs_is_not(
    fresh: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        fresh.add_recording(served_run(number))
    begin_running(fresh, num_launches=1)
    done = Event()

    def refresh(store: Store, *, limit: int) -> int:
        number = keeping.refresh(store, limit=limit)
        if number == 0:
            done.set()
        return number

    monkeypatch.setattr(upkeep, "refresh", refresh)
    keeper = upkeep.Upkeep(fresh)
    keeper.start()
    assert done.wait(60)
    keeper.stop()
    heads = fresh.heads(None)
    assert [head.verdicts is None for head in heads] == [True, *[False] * 7]


class Refusing:
    """Refreshes, after it has raised each of these errors."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = [*errors]
        self.done = Event()

    def __call__(self, store: Store, *, limit: int) -> int:
        if self.errors:
            raise self.errors.pop(0)
        number = keeping.refresh(store, limit=limit)
        if number == 0:
            self.done.set()
        return number


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "LOOK_AGAIN", 0.01)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StoreError("runs.db is locked by another process"), "locked by another process"),
        (MemoryError("too much"), "MemoryError: too much"),
    ],
)
def test_what_goes_wrong_is_said_once_and_tried_again(
    fresh: Store,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    said: str,
) -> None:
    fresh.add_recording(served_run(1))
    refresh = Refusing(error, error, error)
    monkeypatch.setattr(upkeep, "refresh", refresh)
    keeper = upkeep.Upkeep(fresh)
    keeper.start()
    assert refresh.done.wait(60)
    keeper.stop()
    assert fresh.heads(1)[0].verdicts is not None
    assert [said in record.getMessage() for record in caplog.records] == [True]


@pytest.mark.usefixtures("impatient")
def test_the_next_thing_that_goes_wrong_is_said_too(
    fresh: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refresh = Refusing(StoreError("runs.db is locked"), StoreError("no space left for runs.db"))
    monkeypatch.setattr(upkeep, "refresh", refresh)
    keeper = upkeep.Upkeep(fresh)
    keeper.start()
    assert refresh.done.wait(60)
    keeper.stop()
    assert len(caplog.records) == 2
