"""Upkeep: finished runs are summarized in the background, and a store that refuses is left alone."""

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


def test_a_store_that_cannot_be_written_ends_it_with_a_word(
    fresh: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: Store, *, limit: int) -> int:
        raise StoreError("runs.db is read-only")

    monkeypatch.setattr(upkeep, "refresh", refuse)
    keeper = upkeep.Upkeep(fresh)
    keeper.start()
    keeper.stop()
    assert "read-only" in caplog.text
