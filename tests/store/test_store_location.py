"""Where the store is."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import make_url

from stepmark.errors import StoreError, UsageError
from stepmark.store.location import VARIABLE, database_file, is_memory, parse, store_url


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


def file_of(url: str) -> Path | None:
    return database_file(make_url(url))


def test_the_default_is_in_the_users_data_directory(tmp_path: Path) -> None:
    assert file_of(store_url(None)) == tmp_path / "data" / "stepmark" / "stepmark.db"


def test_a_choice_goes_before_the_variable_and_that_before_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, "from_variable.db")
    assert file_of(store_url(None)) == tmp_path / "from_variable.db"
    assert file_of(store_url("chosen.db")) == tmp_path / "chosen.db"
    monkeypatch.setenv(VARIABLE, "")
    assert file_of(store_url(None)) == tmp_path / "data" / "stepmark" / "stepmark.db"


@pytest.mark.parametrize("name", ["results.db", "./x/results.sqlite", "a b.db", "50%.db", "ü#@:.db"])
def test_a_plain_path_is_a_file(tmp_path: Path, name: str) -> None:
    assert file_of(store_url(name)) == tmp_path / name


def test_a_question_mark_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be a store"):
        store_url("what?.db")


def test_a_home_directory_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert file_of(store_url("~/results.db")) == tmp_path / "home" / "results.db"


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///x.db", "postgresql+psycopg://me:secret@there/db"])
def test_a_url_is_left_alone(url: str) -> None:
    assert store_url(url) == url


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?uri=true", "postgresql://x/y"]
)
def test_a_store_without_a_file_of_its_own(url: str) -> None:
    assert file_of(url) is None


def test_memory_is_told_from_files_and_servers() -> None:
    memory = [
        is_memory(parse(url)) for url in ("sqlite://", "sqlite:///:memory:", "sqlite:///x", "postgresql://")
    ]
    assert memory == [True, True, False, False]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@there:port/db",
        "postgresql://me:sec@ret@there:70x/db",
        "://secret@there",
    ],
)
def test_a_url_that_cannot_be_taken_apart_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(StoreError, match="is not a database URL") as caught:
        parse(url)
    assert "sec" not in caught.value.problem
    assert caught.value.__cause__ is None
    assert "there" in caught.value.problem


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(StoreError, match=r"'results\.db' is not a database URL"):
        parse("results.db")
