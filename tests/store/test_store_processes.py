"""Several processes, killed processes: nothing is lost and nothing is torn."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from stepmark.errors import StoreError
from stepmark.store.store import Store
from tests.store.processes import finish, run, start
from tests.store.programs import launch

pytestmark = [pytest.mark.process, pytest.mark.beside]


def assert_sound(file: Path) -> None:
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def num_launches(url: str) -> int:
    with Store.open(url, create=False) as store:
        return sum(head.num_launches for head in store.heads(None))


def test_three_writers_and_a_reader_share_a_new_store(tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    process = start("contend", 3, 60, f"sqlite:///{file}")
    seen = [0]
    while process.poll() is None:
        with suppress(StoreError) if len(seen) == 1 else nullcontext():  # no runs yet
            seen.append(num_launches(f"sqlite:///{file}"))
    assert finish(process)[0]["statuses"] == [0, 0, 0]
    assert seen == sorted(seen)
    with Store.open(f"sqlite:///{file}", create=False) as store:
        for number in range(3):
            assert store.load(f"run-{number}").launches == tuple(map(launch, range(60)))
    assert_sound(file)


def test_processes_that_create_one_store_at_the_same_moment_all_succeed(tmp_path: Path) -> None:
    urls = [f"sqlite:///{tmp_path}/{number}.db" for number in range(6)]
    for result in run("contend", 4, 1, *urls):
        assert result["statuses"] == [0, 0, 0, 0]
        with Store.open(result["url"], create=False) as store:
            assert [head.num_launches for head in store.heads(None)] == [1, 1, 1, 1]


@pytest.mark.parametrize(("num_kills", "num_stores"), [(15, 1), (10, 10)])
def test_a_killed_writer_leaves_every_acknowledged_trial(
    tmp_path: Path, num_kills: int, num_stores: int
) -> None:
    urls = [f"sqlite:///{tmp_path}/{number}.db" for number in range(num_stores)]
    for result in run("kill", num_kills, 7, *urls):
        acknowledged = result["acknowledged"] - 1  # the first acknowledges the head
        with Store.open(result["url"]) as store:
            known = {head.id for head in store.heads(None)}
            assert result["run"] in known or acknowledged < 0
            if result["run"] in known:
                launches = store.load(result["run"]).launches
                assert len(launches) in {max(acknowledged, 0), acknowledged + 1}
                assert launches == tuple(map(launch, range(len(launches))))
        assert_sound(Path(result["url"].removeprefix("sqlite:///")))
