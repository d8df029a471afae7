"""Suites of a reference wherever a run is shown: tables, files, pages, charts, without any store."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stepmark.cli import cli
from stepmark.cli.named_run import file_name, is_of_reference, named_run
from stepmark.errors import StepmarkError
from stepmark.published.references import reference_of_suite
from stepmark.store.store import Store
from tests.support.recordings import make_recording

REFERENCE = "h200-2026-11"
SUITE = f"{REFERENCE}::optimizer"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with no store anywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEPMARK_STORE", str(tmp_path / "none.db"))
    return tmp_path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, catch_exceptions=False, env={"COLUMNS": "80"})


@pytest.mark.usefixtures("folder")
def test_it_is_shown_and_exported() -> None:
    shown = invoke("show", SUITE)
    assert shown.exit_code == 0
    assert "NVIDIA H200" in shown.output
    assert all(len(line) <= 80 for line in shown.output.splitlines())
    exported = invoke("export", SUITE, "--format", "csv")
    lines = [*csv.DictReader(io.StringIO(exported.output))]
    cases = reference_of_suite(REFERENCE, "optimizer").run.cases
    assert {line["variant"] for line in lines} == {case.variant for case in cases}


def test_it_is_drawn(folder: Path) -> None:
    assert invoke("report", SUITE).exit_code == 0
    page = folder / f"stepmark-{REFERENCE}-optimizer.html"
    assert "NVIDIA H200" in page.read_text()
    assert invoke("plot", SUITE, "--kind", "forest", "-o", "forest.svg").exit_code == 0
    assert [*folder.glob("forest*.svg")]
    assert not [*folder.glob("*.db")]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", [REFERENCE, f"{REFERENCE}::", f"{REFERENCE}::no_such"])
@pytest.mark.parametrize("command", [("show",), ("export",), ("plot", "--kind", "forest", "-o", "a.svg")])
def test_without_a_suite_of_its_own_those_that_it_has_are_told(name: str, command: tuple[str, ...]) -> None:
    with pytest.raises(StepmarkError) as refused:
        invoke(*command, name)
    assert "optimizer, precision" in (refused.value.remedy or "")


def test_as_a_published_result_it_is_refused_with_the_way_to_it() -> None:
    with pytest.raises(StepmarkError) as refused:
        invoke("published", REFERENCE)
    assert f"stepmark show {REFERENCE}::SUITE" in (refused.value.remedy or "")


def test_other_names_are_those_of_a_store(tmp_path: Path) -> None:
    recording, place = make_recording(), str(tmp_path / "runs.db")
    with Store.open(f"sqlite:///{place}") as store:
        store.begin(recording.run)
        for trial in recording.trials:
            store.append(recording.run.id, trial)
        store.save_baseline("main", recording.run.id, saved=0.0)
    assert not is_of_reference("main")
    for name in (recording.run.id, "latest", "main"):
        found = named_run(name, place)
        assert found.run.id == recording.run.id == file_name(name, found)
