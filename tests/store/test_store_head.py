"""The list of runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from stepmark.records.run import RunStatus
from stepmark.store.head import RunHead
from stepmark.store.store import Store
from tests.support.recordings import make_recording, make_run


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open("sqlite://") as opened:
        yield opened


def test_a_head_tells_what_was_asked_and_what_is_there(store: Store) -> None:
    recording = make_recording(axes={"features": (64, 128)}, num_launches=3)
    run = recording.run
    store.begin(run)
    store.append(run.id, recording.solos[0])
    for launch in recording.launches:
        store.append(run.id, launch)
    expected = RunHead(
        id=run.id,
        started=run.started,
        finished=run.finished,
        status=RunStatus.COMPLETE,
        suites=("synthetic",),
        num_cases=4,
        num_solos=1,
        num_launches=6,
        command=("stepmark", "run", "synthetic"),
        stepmark="0.1.0",
        machine="bench",
    )
    assert store.heads(None) == (expected,)


def test_the_newest_come_first_and_the_limit_keeps_them(store: Store) -> None:
    for run_id, started in [("b", 2.0), ("c", 3.0), ("a", 1.0), ("d", 3.0)]:
        store.begin(replace(make_run(id=run_id), started=started))
    assert [head.id for head in store.heads(None)] == ["d", "c", "b", "a"]
    assert [head.id for head in store.heads(2)] == ["d", "c"]
    assert store.resolve("latest") == "d"
    assert store.resolve("a") == "a"


def test_a_new_store_has_no_heads(store: Store) -> None:
    assert store.heads(10) == ()
