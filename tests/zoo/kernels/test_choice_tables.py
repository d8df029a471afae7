"""Tables of choices that come with the package: read as they are, and naming only what exists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.h200.choices import names_known, shipped, together
from stepmark.zoo.kernels import dispatch
from stepmark.zoo.kernels.dispatch import TABLES, Choice, choices
from stepmark.zoo.kernels.switchback_choice import OPERATION

FILES = sorted(TABLES.glob("*.json"))
NAME = f"{OPERATION}|8192,1280,5120,float16,110-int800"


@pytest.fixture(params=FILES, ids=lambda file: str(file.name))
def table(request: pytest.FixtureRequest) -> Path:
    file: Path = request.param
    return file


@pytest.fixture
def on_its_device(table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """As if the table's device and versions were here, and nobody had measured anything."""
    made_for = json.loads(table.read_text())["made_for"]
    monkeypatch.setattr(dispatch, "made_for", lambda: made_for)
    monkeypatch.setenv("STEPMARK_CHOICES", str(tmp_path / "none.json"))
    choices.cache_clear()
    yield table
    choices.cache_clear()


def test_there_is_one_for_the_card_of_the_figures() -> None:
    devices = [json.loads(file.read_text())["made_for"]["device"] for file in FILES]
    assert "NVIDIA H200" in devices


def test_only_existing_ways_are_named(table: Path) -> None:
    for name, chosen in json.loads(table.read_text())["choices"].items():
        known = names_known(name)
        assert known is not None, name
        assert {*chosen} <= known, name


def test_a_table_is_what_dispatch_reads(on_its_device: Path) -> None:
    written = json.loads(on_its_device.read_text())["choices"]
    assert choices() == {name: Choice(*chosen) for name, chosen in written.items()}
    assert len(written) > 200


def test_on_another_device_nothing_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dispatch, "made_for", lambda: {"device": "another", "torch": "2.11", "triton": "3.6"})
    monkeypatch.setenv("STEPMARK_CHOICES", str(tmp_path / "none.json"))
    choices.cache_clear()
    assert choices() == {}
    choices.cache_clear()


def test_what_no_longer_exists_is_left_out() -> None:
    made = {
        "made_for": {"device": "a card"},
        "choices": {
            NAME: ["int8", "16-bit"],
            f"{OPERATION}|1,2,3,float16,110-int800": ["int4", "int4"],
            "switchback-layer/1|8192,1280,5120,float16,110-int800": ["int8", "int8"],
            "fragmented-hard/1|8,8,16,64,4,float32,alone": ["masked", "gone"],
            "another/1|1": ["torch", "torch"],
        },
    }
    assert shipped(made, []) == {"made_for": {"device": "a card"}, "choices": {NAME: ["int8", "16-bit"]}}


def test_later_files_count_and_all_are_made_for_the_same() -> None:
    card = {"device": "a card"}
    first = {"made_for": card, "choices": {"a": ["one", "one"], "b": ["two", "two"]}}
    second = {"made_for": card, "choices": {"b": ["three", "three"]}}
    expected = {"made_for": card, "choices": {"a": ["one", "one"], "b": ["three", "three"]}}
    assert together([first, second]) == expected
    with pytest.raises(ValueError, match="too many values"):
        together([first, {"made_for": {"device": "another"}, "choices": {}}])
