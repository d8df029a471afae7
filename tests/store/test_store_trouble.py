"""Everything that can be wrong with a store is said in one line, with a remedy."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stepmark.errors import StoreError
from stepmark.store import connection
from stepmark.store.store import Store
from tests.support.recordings import make_recording, make_run

_NOBODY = 65534


@contextmanager
def unprivileged() -> Iterator[None]:
    """Permissions do not bind root, so root puts its rights down for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    """A directory that others may enter; pytest's own ones are closed to them."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)
        os.chmod(name, 0o755)


def problem_of(file: Path, *, create: bool = True) -> StoreError:
    with pytest.raises(StoreError) as caught:
        Store.open(f"sqlite:///{file}", create=create).close()
    assert caught.value.exit_code == 2
    assert "\n" not in caught.value.problem + caught.value.remedy
    assert caught.value.remedy
    return caught.value


def test_a_reader_creates_nothing(tmp_path: Path) -> None:
    file = tmp_path / "below" / "results.db"
    error = problem_of(file, create=False)
    assert error.problem == f"no runs yet: there is no store at {file}"
    assert list(tmp_path.iterdir()) == []


def test_a_reader_leaves_an_empty_file_empty(tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    file.touch()
    assert problem_of(file, create=False).problem.startswith("no runs yet")
    assert file.stat().st_size == 0


def test_a_directory_on_the_way_is_made(tmp_path: Path) -> None:
    file = tmp_path / "not" / "yet" / "results.db"
    Store.open(f"sqlite:///{file}").close()
    assert file.is_file()


@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_is_no_database(tmp_path: Path, create: bool) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("all work and no play\n" * 1000)
    assert problem_of(file, create=create).problem == f"{file} is not a database"
    assert file.read_text().startswith("all work")


def test_a_directory_in_the_place_of_a_file(tmp_path: Path) -> None:
    error = problem_of(tmp_path)
    assert error.problem == f"{tmp_path} is a directory"
    assert str(tmp_path / "stepmark.db") in error.remedy


def test_a_file_in_the_place_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    error = problem_of(tmp_path / "file" / "results.db")
    assert error.problem.startswith(f"the directory {tmp_path / 'file'} cannot be made")


def test_a_directory_that_may_not_be_made(shared: Path) -> None:
    shared.chmod(0o555)
    with unprivileged():
        error = problem_of(shared / "below" / "results.db")
    assert error.problem == f"the directory {shared / 'below'} cannot be made: Permission denied"


def test_a_directory_that_may_not_be_entered(shared: Path) -> None:
    shared.chmod(0o000)
    with unprivileged():
        error = problem_of(shared / "results.db")
    assert error.problem == f"{shared / 'results.db'} cannot be used: Permission denied"


def test_a_file_that_may_not_be_read(shared: Path) -> None:
    file = shared / "results.db"
    Store.open(f"sqlite:///{file}").close()
    file.chmod(0o000)
    with unprivileged():
        assert problem_of(file).problem == f"{file} cannot be opened"


def test_a_file_that_may_not_be_written(shared: Path) -> None:
    file = shared / "results.db"
    with Store.open(f"sqlite:///{file}") as keeper:
        keeper.begin(make_run(id="first"))
        for path in shared.iterdir():
            path.chmod(0o444)
        with unprivileged(), Store.open(f"sqlite:///{file}") as store:
            assert store.resolve("latest") == "first"
            with pytest.raises(StoreError) as caught:
                store.append("first", make_recording(num_launches=1).launches[0])
    assert caught.value.problem == f"{file} is read-only or on a read-only disk"


def test_a_store_that_stays_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.02)
    file = tmp_path / "results.db"
    launch = make_recording(num_launches=1).launches[0]
    with Store.open(f"sqlite:///{file}") as store:
        store.begin(make_run(id="first"))
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as caught:
            store.append("first", launch)
        assert caught.value.problem == f"{file} is locked by another process"
        other.close()
        store.append("first", launch)


def test_a_new_store_that_stays_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.02)
    file = tmp_path / "results.db"
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert problem_of(file).problem == f"{file} is locked by another process"
    other.close()


def test_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    recording = make_recording(num_launches=20)
    with Store.open(f"sqlite:///{file}") as store:
        store.begin(recording.run)
        for launch in recording.launches:
            store.append(recording.run.id, launch)
    content = bytearray(file.read_bytes())
    content[4096 * 3 :] = os.urandom(len(content) - 4096 * 3)
    file.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"), Store.open(f"sqlite:///{file}") as store:
        store.load(recording.run.id)


@pytest.mark.parametrize("url", ["nosuchdatabase://host/name", "oracle+oracledb://me:secret@host/name"])
def test_a_database_that_cannot_be_spoken_to(url: str) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open(url)
    assert "secret" not in caught.value.problem
    assert "cannot be used" in caught.value.problem


@pytest.mark.parametrize("act", ["moved", "replaced"])
def test_a_file_that_is_no_longer_in_its_place_takes_nothing(tmp_path: Path, act: str) -> None:
    """SQLite would go on without a word, and what it was given would be gone with the last connection."""
    file, recording = tmp_path / "results.db", make_recording(num_launches=2)
    with Store.open(f"sqlite:///{tmp_path}/other.db") as other:
        other.begin(make_run(id="other"))
    with Store.open(f"sqlite:///{file}") as store:
        store.begin(recording.run)
        store.append(recording.run.id, recording.launches[0])
        if act == "replaced":
            (tmp_path / "other.db").replace(file)
        else:
            file.rename(tmp_path / "kept.db")
        with pytest.raises(StoreError, match="was moved, deleted or replaced while it was open") as caught:
            store.append(recording.run.id, recording.launches[1])
        assert "put the file back" in caught.value.remedy
        assert store.load(recording.run.id).launches == recording.launches[:1], "to be shown"
        if act == "moved":
            (tmp_path / "kept.db").rename(file)
            store.append(recording.run.id, recording.launches[1])
            assert store.load(recording.run.id).launches == recording.launches
