"""References by name: listed, found by suite, and compared with, without being in a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from stepmark.cli.baseline_command import command as baseline
from stepmark.cli.compare_command import command as compare
from stepmark.cli.export_command import command as export
from stepmark.cli.previous_run import checked_against, print_against
from stepmark.cli.published_command import command as published
from stepmark.errors import UsageError
from stepmark.pipeline import judged
from stepmark.published import references as module
from stepmark.published.reference_file import to_reference
from stepmark.published.references import (
    reference_names,
    reference_of_suite,
    reference_run,
    reference_runs,
    references,
)
from stepmark.records.run import Recording
from stepmark.store.store import Store
from tests.support.recordings import make_recording, make_run

NAME = "toy-2027-01"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A reference of two runs, each with a suite."""
    place = tmp_path / "references"
    (place / NAME).mkdir(parents=True)
    for suite in ("norms", "layers"):
        (place / NAME / f"{suite}.jsonl.gz").write_bytes(to_reference(recorded(suite, host="bench")))
    monkeypatch.setattr(module, "FOLDER", place)
    module._heads.cache_clear()
    yield place
    module._heads.cache_clear()


@pytest.fixture
def store(tmp_path: Path) -> str:
    """With a run of the suite norms on another machine, half as fast."""
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    recording = recorded("norms", host="elsewhere", seconds=2e-3, id="20270301-080000-mine1")
    with Store.open(url) as opened:
        opened.begin(recording.run)
        for trial in recording.trials:
            opened.append(recording.run.id, trial)
    return url


def recorded(suite: str, *, host: str, id: str = "20270115-080000-refer", seconds: float = 1e-3) -> Recording:
    recording = make_recording(num_launches=5, seconds=seconds)
    head = make_run(suite=suite, id=id)
    environment = replace(head.environment, host=replace(head.environment.host, hostname=host))
    cells = {case.id: case.cell for case in head.cases}
    cell = next(iter(cells.values()))
    return Recording(
        run=replace(head, environment=environment),
        solos=tuple(replace(solo, case=replace(solo.case, cell=cell)) for solo in recording.solos),
        launches=tuple(replace(launch, cell=cell) for launch in recording.launches),
    )


def test_none_is_there_until_one_is_put_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FOLDER", tmp_path / "nothing")
    assert (reference_names(), references()) == ((), ())


@pytest.mark.usefixtures("folder")
def test_a_reference_is_named_and_described() -> None:
    (known,) = references()
    assert reference_names() == (NAME,)
    assert (known.name, known.date, known.hardware) == (NAME, "2027-01-15", "Example CPU")
    assert {*known.suites} == {"norms", "layers"}


@pytest.mark.usefixtures("folder")
def test_the_run_is_found_by_its_suite() -> None:
    assert [each.name for each in reference_run(NAME, ["norms"]).run.suites] == ["norms"]
    with pytest.raises(UsageError, match="none of the suites other"):
        reference_run(NAME, ["other"])
    both = reference_run(NAME, ["norms", "layers"])
    assert {case.cell.suite for case in both.run.cases} == {"norms", "layers"}
    assert [each.run for each in reference_runs(NAME)] == [
        reference_run(NAME, [suite]).run for suite in ("layers", "norms")
    ]


@pytest.mark.usefixtures("folder")
def test_a_run_is_compared_with_a_reference_of_another_machine(store: str) -> None:
    done = CliRunner().invoke(compare, [NAME, "latest", "--store", store], catch_exceptions=False)
    assert done.exit_code == 0
    assert "SLOWER" in done.output
    assert NAME in done.output
    assert "machine" in done.output


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("format_", ["table", "markdown", "criterion"])
def test_against_takes_the_name(store: str, format_: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked_against(NAME, format_, store) == NAME
    with Store.open(store) as opened:
        recording = opened.load(opened.resolve("latest"))
    print_against(format_, judged(recording), recording, against=NAME, store=store)
    shown = capsys.readouterr().out
    assert ("change" in shown) if format_ == "criterion" else ("SLOWER" in shown)


@pytest.mark.usefixtures("folder")
def test_they_are_listed_with_published_results_and_baselines(store: str) -> None:
    for command, arguments in ((published, []), (baseline, ["list", "--store", store])):
        shown = CliRunner().invoke(command, arguments, catch_exceptions=False, env={"COLUMNS": "80"}).output
        assert NAME in shown
        assert "norms" in shown
        assert all(len(line) <= 80 for line in shown.splitlines())


@pytest.mark.usefixtures("folder")
def test_names_of_references_are_taken(store: str) -> None:
    with pytest.raises(UsageError, match="comes with stepmark"):
        CliRunner().invoke(baseline, ["save", NAME, "--store", store], catch_exceptions=False)
    with pytest.raises(UsageError, match="two references"):
        CliRunner().invoke(compare, [NAME, NAME, "--store", store], catch_exceptions=False)


def test_a_stored_run_is_exported_as_one(store: str, folder: Path) -> None:
    file = folder / NAME / "more.jsonl.gz"
    arguments = ["latest", "--format", "reference", "-o", str(file), "--store", store]
    assert CliRunner().invoke(export, arguments, catch_exceptions=False).exit_code == 0
    (folder / NAME / "norms.jsonl.gz").unlink()
    module._heads.cache_clear()
    assert reference_run(NAME, ["norms"]).run.id == "20270301-080000-mine1"


@pytest.mark.usefixtures("folder")
def test_a_suite_comes_with_its_own_cases_alone() -> None:
    both = recorded("norms", host="bench")
    other = recorded("layers", host="bench")
    run = replace(
        both.run, suites=(*both.run.suites, *other.run.suites), cases=(*both.run.cases, *other.run.cases)
    )
    together = Recording(
        run=run, solos=(*both.solos, *other.solos), launches=(*both.launches, *other.launches)
    )
    found = together.of_suites({"norms"})
    assert (found.run.suites, found.run.cases) == (both.run.suites, both.run.cases)
    assert (found.solos, found.launches) == (both.solos, both.launches)
    alone = reference_of_suite(NAME, "layers")
    assert {outline.name for outline in alone.run.suites} == {"layers"}
    assert judged(alone).cases


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("suite", ["", "losses"])
def test_what_suites_there_are_is_told(suite: str) -> None:
    with pytest.raises(UsageError) as refused:
        reference_of_suite(NAME, suite)
    assert f"{NAME}::layers" in (refused.value.remedy or "")
    assert "norms" in (refused.value.remedy or "")


def test_a_built_in_name_stands_for_all_its_suites() -> None:
    found = reference_of_suite("h200-2026-11", "switchback")
    assert {outline.name for outline in found.run.suites} == {"switchback", "switchback_layer"}
    layers = reference_of_suite("h200-2026-11", "switchback_layer")
    assert {case.cell.suite for case in layers.run.cases} == {"switchback_layer"}
    assert {launch.cell.suite for launch in layers.launches} == {"switchback_layer"}
