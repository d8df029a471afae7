"""`show`, `runs`, `export` and `list` over a store of synthetic recordings: no workers, no torch."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stepmark.cli import cli
from stepmark.errors import StepmarkError
from stepmark.records.run import FORMAT, Recording
from stepmark.store.store import Store
from tests.support.recordings import fail_lane, make_recording


def recorded() -> Recording:
    measured = make_recording(
        variants={"dense": 1.0, "mine": 1.2, "broken": 1.0},
        axes={"features": (512, 1024)},
        num_launches=4,
        num_rounds=12,
    )
    return fail_lane(measured, "broken", launch=1, keep=5)


@pytest.fixture
def store(tmp_path: Path) -> str:
    place = str(tmp_path / "runs.db")
    recording = recorded()
    with Store.open(f"sqlite:///{place}") as opened:
        opened.begin(recording.run)
        for trial in recording.trials:
            opened.append(recording.run.id, trial)
    return place


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, catch_exceptions=False, env={"COLUMNS": "80"})


def test_show_prints_the_latest_run(store: str) -> None:
    done = invoke("show", "--store", store)
    assert done.exit_code == 0
    assert "features=512" in done.output
    assert "broken" in done.output
    assert all(len(line) <= 80 for line in done.output.splitlines())


def test_show_can_judge_by_another_margin(store: str) -> None:
    strict = invoke("show", "--store", store, "--margin", "0.1%").output
    loose = invoke("show", "--store", store, "--margin", "90%").output
    assert "EQUIVALENT" in loose
    assert strict != loose


def test_show_lists_phases_and_failures(store: str) -> None:
    assert "backward" in invoke("show", "--store", store, "--phases").output
    assert "broken" in invoke("show", "--store", store, "--failures").output


@pytest.mark.parametrize("format_", ["markdown", "csv", "json", "jsonl"])
def test_export_writes_every_format(store: str, format_: str, tmp_path: Path) -> None:
    printed = invoke("export", "--store", store, "--format", format_)
    assert printed.exit_code == 0
    file = tmp_path / "out"
    assert invoke("export", "--store", store, "--format", format_, "-o", str(file)).exit_code == 0
    assert file.read_text() == printed.output
    if format_ == "json":
        assert json.loads(printed.output)["format"] == FORMAT
    if format_ == "jsonl":
        assert all(json.loads(line)["kind"] for line in printed.output.splitlines())
    if format_ == "csv":
        rows = list(csv.DictReader(io.StringIO(printed.output)))
        assert {row["variant"] for row in rows} == {"dense", "mine", "broken"}


def test_export_to_a_place_that_cannot_be_written(store: str) -> None:
    with pytest.raises(StepmarkError, match="cannot write"):
        invoke("export", "--store", store, "-o", "/dev/null/x")


def test_runs_lists_them_newest_first(store: str) -> None:
    done = invoke("runs", "--store", store)
    assert recorded().run.id in done.output


@pytest.mark.parametrize(
    ("options", "fits"),
    [
        (("--suite", "synthetic"), True),
        (("--suite", "other"), False),
        (("--machine", "bench"), True),
        (("--machine", "other"), False),
        (("--branch", "main"), False),
        (("--search", "SYNTH bench"), True),
        (("--search", "synth other"), False),
        (("--since", "2020-01-01"), True),
        (("--since", "2090-01-01T10:30"), False),
        (("--until", "2090-01-01"), True),
        (("--until", "2020-01-01"), False),
        (("--suite", "synthetic", "--machine", "bench", "--since", "2020-01-01"), True),
    ],
)
def test_runs_can_be_searched(store: str, options: tuple[str, ...], fits: bool) -> None:
    done = invoke("runs", "--store", store, *options)
    assert done.exit_code == 0
    assert (recorded().run.id in done.output) == fits
    assert ("no run fits" in done.output) != fits


def test_a_run_that_is_not_there(store: str) -> None:
    with pytest.raises(StepmarkError) as caught:
        invoke("show", "20990101", "--store", store)
    assert caught.value.remedy


def test_list_names_suites_without_importing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bench_mine.py").write_text("raise SystemError\nsuite = sm.Suite('mylayer')\n")
    monkeypatch.chdir(tmp_path)
    done = invoke("list")
    assert done.exit_code == 0
    assert "demo" in done.output
    assert "mylayer" in done.output
    assert "bench_mine.py" in done.output


def stepmark_into(stream: Any, store: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command with its output in a stream that does not take it."""
    return subprocess.run(
        [sys.executable, "-m", "stepmark", *arguments],
        stdout=stream,
        stderr=subprocess.PIPE,
        env={**os.environ, "STEPMARK_STORE": store},
        text=True,
        check=False,
    )


@pytest.mark.parametrize("arguments", [("--help",), ("list",), ("export", "--format", "jsonl")])
def test_a_reader_that_has_left_is_not_a_condition_that_holds(store: str, arguments: tuple[str, ...]) -> None:
    """Exit code 1 says that a --fail-on condition holds; 141 is what other programs end with."""
    reading, writing = os.pipe()
    os.close(reading)
    done = stepmark_into(writing, store, *arguments)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("arguments", [("show",), ("list",), ("export", "--format", "jsonl")])
def test_output_that_cannot_be_written_is_not_a_condition_that_holds(
    store: str, arguments: tuple[str, ...]
) -> None:
    with open("/dev/full", "wb") as full:
        done = stepmark_into(full, store, *arguments)
    problem, remedy = done.stderr.splitlines()
    assert (done.returncode, problem) == (
        2,
        "stepmark: the output cannot be written: No space left on device",
    )
    assert "make room" in remedy
