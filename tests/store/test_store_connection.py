"""How SQLite is told to keep what it is given."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import IntegrityError, OperationalError

from stepmark.store.connection import connect, writing
from stepmark.store.store import Store
from tests.support.recordings import make_recording, make_run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "results.db"
    with Store.open(f"sqlite:///{path}") as store:
        store.begin(make_run(id="first"))
    return path


def test_every_connection_is_durable_and_checks_references(file: Path) -> None:
    engine = connect(make_url(f"sqlite:///{file}"))
    with engine.connect() as one, engine.connect() as other:
        for connection in (one, other):
            settings = [
                connection.execute(text(f"PRAGMA {name}")).scalar()
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            ]
            assert settings == ["wal", 2, 1, 30_000]  # 2 is FULL
    engine.dispose()


def test_a_transaction_that_fails_leaves_nothing(file: Path) -> None:
    engine = connect(make_url(f"sqlite:///{file}"))

    def write() -> None:
        with writing(engine).begin() as connection:
            connection.execute(text("CREATE TABLE more (x)"))
            connection.execute(text("DELETE FROM cases"))
            connection.execute(text("INSERT INTO cases VALUES ('nowhere', 0, '', '')"))

    with pytest.raises(IntegrityError):
        write()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM cases")).scalar() == 2
        with pytest.raises(OperationalError, match="no such table"):
            connection.execute(text("SELECT * FROM more"))
    engine.dispose()


def test_a_reader_does_not_wait_for_a_writer_and_sees_whole_trials_only(file: Path) -> None:
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM cases")
    with Store.open(f"sqlite:///{file}", create=False) as reader:
        assert len(reader.load("first").run.cases) == 2
        assert len(reader.heads(None)) == 1
    writer.close()


def test_a_reader_sees_one_moment(file: Path) -> None:
    """What another process appends between two queries of a reader is not there for the second."""
    engine = connect(make_url(f"sqlite:///{file}"))
    count = text("SELECT count(*) FROM launches")
    with engine.connect() as connection, Store.open(f"sqlite:///{file}") as writer:
        assert connection.execute(count).scalar() == 0
        writer.append("first", make_recording(num_launches=1).launches[0])
        assert connection.execute(count).scalar() == 0
    with engine.connect() as connection:
        assert connection.execute(count).scalar() == 1
    engine.dispose()


def test_a_store_in_memory_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open("sqlite://") as store:
        store.begin(make_run(id="first"))
        assert store.resolve("latest") == "first"
    assert list(tmp_path.iterdir()) == []
