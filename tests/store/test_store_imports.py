"""Imported documents: kept as records, found again, given back to the byte."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from msgspec.structs import replace

from stepmark.errors import StoreError, UsageError
from stepmark.interchange.formats import Document, parse, render
from stepmark.published.catalogue import PUBLICATIONS, document_of, text_of
from stepmark.store.imports import Import
from stepmark.store.store import Store
from tests.interchange.criterion_logs import MadeLog, logs
from tests.store.old_stores import make_old
from tests.support.properties import steady
from tests.support.recordings import make_run

RUN = "20270101-080000-aaaa"


def made(document: Document, *, number: int = 0, name: str = "file.txt") -> Import:
    return Import(id=f"2028010{number}-080000-bbbb", imported=float(number), name=name, document=document)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/runs.db") as opened:
        opened.begin(make_run(id=RUN))
        yield opened


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_a_published_file_comes_back(store: Store, name: str) -> None:
    kept = made(document_of(name))
    store.add_import(kept)
    found = store.imported(kept.id)
    assert found == kept
    assert found is not None
    assert render(found.document) == text_of(name)
    (head,) = store.import_heads(None)
    assert (head.format, head.name) == (PUBLICATIONS[name].format, "file.txt")


def test_noise_and_all_comes_back() -> None:
    numbers = itertools.count()
    with Store.open("sqlite://") as opened:

        @steady
        @given(logs())
        def comes_back(log: MadeLog) -> None:
            kept = replace(made(parse(log.text, "log", format_name="criterion")), id=str(next(numbers)))
            opened.add_import(kept)
            found = opened.imported(kept.id)
            assert found is not None
            assert render(found.document) == log.text

        comes_back()


def test_an_import_is_found_by_id_beginning_and_name(store: Store) -> None:
    for number, name in enumerate(["a.txt", "b.txt", "a.txt"]):
        store.add_import(made(document_of("lora"), number=number, name=name))
    assert [head.id[7] for head in store.import_heads(None)] == ["2", "1", "0"]
    assert [head.id[7] for head in store.import_heads(2)] == ["2", "1"]
    assert store.resolve_any("20280101") == "20280101-080000-bbbb"
    assert store.resolve_any("b.txt") == "20280101-080000-bbbb"
    assert store.resolve_any("a.txt") == "20280102-080000-bbbb"
    with pytest.raises(UsageError, match="beginning of 3 runs"):
        store.resolve_any("2028")


def test_runs_are_found_as_before_and_latest_is_a_run(store: Store) -> None:
    store.add_import(made(document_of("lora"), name="main"))
    store.save_baseline("main", RUN, saved=1.0)
    assert store.resolve_any("latest") == store.resolve_any("2027") == store.resolve_any("main") == RUN
    assert store.imported(RUN) is None
    with pytest.raises(UsageError, match="no run '20280100"):
        store.resolve("20280100-080000-bbbb")


def test_a_name_may_begin_like_the_latest(store: Store) -> None:
    store.save_baseline("latest-good", RUN, saved=1.0)
    kept = made(document_of("lora"), name="latest.txt")
    store.add_import(kept)
    assert (
        store.resolve_any("latest-good")
        == store.resolve("latest-good")
        == store.resolve_any("latest~0")
        == RUN
    )
    assert store.resolve_any("latest.txt") == kept.id


def test_an_id_is_taken_once(store: Store) -> None:
    store.add_import(made(document_of("lora")))
    with pytest.raises(StoreError, match="cannot be kept"):
        store.add_import(replace(made(document_of("lora")), name="other"))
    assert [head.name for head in store.import_heads(None)] == ["file.txt"]


def test_a_store_without_imports_gets_them_and_keeps_its_runs(tmp_path: Path) -> None:
    """From the tables of 0002."""
    file = tmp_path / "old.db"
    url = f"sqlite:///{file}"
    with Store.open(url) as new:
        new.begin(make_run(id=RUN))
    make_old(file, "0002")
    with Store.open(url, create=False) as store:
        assert store.run(RUN).id == RUN
        store.add_import(made(document_of("fragmented")))
        assert len(store.import_heads(None)) == 1
