"""Names of runs: kept, moved, given up, and never lost from the history."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.errors import StoreError, UsageError
from stepmark.store.baseline import check_name
from stepmark.store.store import Store
from tests.store.old_stores import make_old
from tests.support.properties import steady
from tests.support.recordings import make_recording, make_run

IDS = ("20270101-080000-aaaa", "20270102-080000-bbbb")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{file}") as opened:
        for number, run_id in enumerate(IDS):
            opened.begin(replace(make_run(id=run_id), started=float(number)))
        yield opened


def test_a_name_stands_for_its_run(store: Store) -> None:
    store.save_baseline("main", IDS[0], saved=5.0)
    store.save_baseline("v1.2/cpu", IDS[1], saved=6.0)
    assert store.baseline("main") == store.resolve("main") == IDS[0]
    assert [(each.name, each.run, each.saved, each.suites) for each in store.baselines()] == [
        ("main", IDS[0], 5.0, ("synthetic",)),
        ("v1.2/cpu", IDS[1], 6.0, ("synthetic",)),
    ]


def test_a_name_is_taken_only_by_force_and_the_old_row_stays(store: Store, file: Path) -> None:
    store.save_baseline("main", IDS[0], saved=5.0)
    with pytest.raises(UsageError, match=f"a baseline 'main' already: run {IDS[0]}") as caught:
        store.save_baseline("main", IDS[1], saved=6.0)
    assert "--force" in caught.value.remedy
    assert store.baseline("main") == IDS[0]
    store.save_baseline("main", IDS[1], saved=6.0, replace=True)
    assert store.baseline("main") == IDS[1]
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT run_id FROM baselines ORDER BY id").fetchall() == [
            (IDS[0],),
            (IDS[1],),
        ]
    connection.close()


def test_a_name_that_was_given_up_can_be_used_again(store: Store) -> None:
    store.save_baseline("main", IDS[0], saved=5.0)
    store.delete_baseline("main", saved=6.0)
    assert store.baselines() == ()
    with pytest.raises(UsageError, match="no baseline 'main'"):
        store.baseline("main")
    with pytest.raises(UsageError, match="no baseline 'main'"):
        store.delete_baseline("main", saved=7.0)
    store.save_baseline("main", IDS[1], saved=8.0)
    assert store.baseline("main") == IDS[1]


def test_a_slip_names_the_nearest(store: Store) -> None:
    store.save_baseline("main", IDS[0], saved=5.0)
    with pytest.raises(UsageError) as caught:
        store.baseline("mian")
    assert caught.value.remedy.startswith("did you mean main?")


def test_a_run_that_is_not_there_gets_no_name(store: Store) -> None:
    with pytest.raises(StoreError, match="'main' cannot name run 2099"):
        store.save_baseline("main", "2099", saved=5.0)
    assert store.baselines() == ()


@pytest.mark.parametrize("name", ["", "latest", "2027", "-x", "a b", "latest~1", "ä", "x\n"])
def test_names_that_could_be_taken_for_something_else(store: Store, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a baseline"):
        store.save_baseline(name, IDS[0], saved=5.0)


@steady
@given(st.from_regex(r"[A-Za-z][A-Za-z0-9._/-]*", fullmatch=True))
def test_a_name_is_no_id_and_no_count_from_the_latest(name: str) -> None:
    if name != "latest":
        check_name(name)
        assert not name[0].isdigit()
        assert "~" not in name


def test_a_run_is_read_without_its_trials(store: Store) -> None:
    assert store.run(IDS[0]).id == IDS[0]
    assert store.run(IDS[0]) == store.load(IDS[0]).run
    with pytest.raises(StoreError, match="there is no run 2099"):
        store.run("2099")


def test_a_store_without_baselines_gets_them_and_keeps_its_runs(file: Path) -> None:
    """From the tables of 0001, as the first stepmark left them."""
    recording = make_recording(num_launches=2)
    with Store.open(f"sqlite:///{file}") as first:
        first.begin(recording.run)
        for trial in recording.trials:
            first.append(recording.run.id, trial)
    make_old(file, "0001")
    with Store.open(f"sqlite:///{file}", create=False) as store:
        assert store.load(recording.run.id) == recording
        store.save_baseline("main", recording.run.id, saved=1.0)
        assert store.baseline("main") == recording.run.id
