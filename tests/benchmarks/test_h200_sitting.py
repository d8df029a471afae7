"""Sittings: real commands of a made-up plan, their limits, what comes home; and that the plan's can run."""

from __future__ import annotations

import argparse
import json
import tarfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks.h200 import sitting, transformer_step
from benchmarks.h200.sitting_plan import PLAN, Item

ROOT = Path(__file__).parents[2]
README = ROOT / "benchmarks" / "h200" / "README.md"
SCRIPT = """
import json, os, pathlib, sys, time
what, name = sys.argv[1:]
if what == "save":
    pathlib.Path(os.environ["OUT"], name + ".json").write_text(json.dumps({"rows": []}))
print("begun", name)
if what == "hang":
    if os.fork() == 0:
        pathlib.Path(os.environ["OUT"], name + ".child").write_text(str(os.getpid()))
    time.sleep(600)
sys.exit(3 if what == "fail" else 0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the made-up commands find their module, and leave what they save."""
    (tmp_path / "command_of_a_plan.py").write_text(SCRIPT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    made = tmp_path / "made"
    made.mkdir()
    return made


def item(what: str, name: str, seconds: int = 60) -> Item:
    return Item(name, f"command_of_a_plan {what} {name}", seconds, "a test")


def brought(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as packed:
        return {one.name: packed.extractfile(one).read() for one in packed}  # type: ignore[union-attr]


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.process
@pytest.mark.beside
def test_what_was_saved_and_printed_comes_home_and_a_failure_ends_nothing(folder: Path) -> None:
    plan = [item("fail", "first"), item("save", "second")]
    archive = folder.parent / sitting.ARCHIVE
    ended = sitting.sit(plan, folder, archive, 120.0)
    assert [(one.name, one.code) for one in ended] == [("first", 3), ("second", 0)]
    found = brought(archive)
    assert {"first.log", "second.log", "second.json", "sitting.jsonl"} == {*found}
    assert found["first.log"] == b"begun first\n"
    told = [json.loads(line) for line in found["sitting.jsonl"].splitlines()]
    assert [(one["name"], one["code"]) for one in told] == [("first", 3), ("second", 0)]


@pytest.mark.process
@pytest.mark.beside
def test_a_command_that_hangs_is_ended_with_its_children(folder: Path) -> None:
    """The limit is long enough for a busy machine to have started both."""
    archive = folder.parent / sitting.ARCHIVE
    (ended,) = sitting.sit([item("hang", "long", seconds=5)], folder, archive, 120.0)
    assert (ended.name, ended.code) == ("long", None)
    assert brought(archive)["long.log"] == b"begun long\n"
    child = int((folder / "long.child").read_text())
    for _ in range(100):
        if not is_alive(child):
            return
        time.sleep(0.1)
    pytest.fail("its child goes on")


def test_what_the_time_does_not_hold_is_not_begun(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits: dict[str, float] = {}

    def instant(item: Item, folder: Path, limit: float) -> sitting.Ended:
        limits[item.name] = limit
        (folder / f"{item.name}.log").touch()
        return sitting.Ended(item.name, 0, 0.0)

    monkeypatch.setattr(sitting, "perform", instant)
    plan = [item("save", "long", 900), item("save", "short", 30), item("save", "tight", 130)]
    sitting.sit(plan, folder, folder.parent / sitting.ARCHIVE, 100.0)
    assert [*limits] == ["short", "tight"]
    assert limits["short"] == 30.0
    assert limits["tight"] <= 100.0
    assert "left: long (540 s at least, 100 are there)" in capsys.readouterr().out


def test_a_plan_is_taken_up_behind_a_name_or_in_part() -> None:
    plan = [item("save", name) for name in "abc"]
    assert [one.name for one in sitting.chosen(plan, "a", [])] == ["b", "c"]
    assert [one.name for one in sitting.chosen(plan, None, ["c", "a"])] == ["a", "c"]
    with pytest.raises(SystemExit, match=r"not in the plan: d\. The plan: a, b, c"):
        sitting.chosen(plan, None, ["d"])


def test_the_readme_has_the_plan() -> None:
    assert sitting.listed(PLAN) in README.read_text()
    assert len({item.name for item in PLAN}) == len(PLAN)


def test_no_command_is_longer_than_eight_minutes() -> None:
    assert all(30 <= item.seconds <= 480 for item in PLAN)


class Parsed(Exception):
    """The command took its words."""


@pytest.mark.parametrize("item", PLAN, ids=[item.name for item in PLAN])
def test_a_command_of_the_plan_takes_its_words(item: Item, monkeypatch: pytest.MonkeyPatch) -> None:
    module, *words = item.words.split()
    if module == "pytest":
        assert all((ROOT / word).exists() for word in words if word.startswith("tests"))
    else:
        parse = argparse.ArgumentParser.parse_known_args

        def parse_only(parser: argparse.ArgumentParser, *given: Any) -> None:
            _, left = parse(parser, *given)
            raise Parsed(left)

        monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", parse_only)
        monkeypatch.setattr("sys.argv", [module, *words])
        with pytest.raises(Parsed) as parsed:
            import_module(module).main()
        (left,) = parsed.value.args
        if (
            module == "benchmarks.h200.transformer"
        ):  # what it does not know goes on to a process for each size
            monkeypatch.setattr("sys.argv", [module, "--size", "xl", *left])
            with pytest.raises(Parsed) as parsed:
                transformer_step.main()
            (left,) = parsed.value.args
        assert left == []
