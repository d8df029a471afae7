"""`compare` and `baseline` as a user meets them: exit codes, refusals, names; once with real runs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from stepmark.cli import cli
from stepmark.errors import StepmarkError
from stepmark.records.run import Recording
from stepmark.store.store import Store
from tests.support.commands import QUICK, CommandLine
from tests.support.commands_here import CommandsHere
from tests.support.recordings import fail_solo, make_recording


def recorded(number: int, *, factor: float = 1.0, threads: int = 1) -> Recording:
    recording = make_recording(variants={"dense": factor, "mine": 2.0 * factor}, seed=number)
    run = recording.run
    settings = replace(run.settings, threads=threads)
    id = f"202701{number:02}-080000-aaaa"
    return replace(recording, run=replace(run, id=id, started=run.started + number, settings=settings))


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Runs 1 and 2 alike, 3 half as slow again, 4 with two threads, 5 with a failure."""
    place = str(tmp_path / "runs.db")
    recordings = (
        recorded(1),
        recorded(2),
        recorded(3, factor=1.5),
        recorded(4, threads=2),
        fail_solo(recorded(5), "mine"),
    )
    with Store.open(f"sqlite:///{place}") as opened:
        for recording in recordings:
            opened.begin(recording.run)
            for trial in recording.trials:
                opened.append(recording.run.id, trial)
    return place


def invoke(store: str, *arguments: str) -> Result:
    runner = CliRunner()
    return runner.invoke(
        cli,
        [*arguments, "--store", store],
        catch_exceptions=False,
        env={"COLUMNS": "80"},
        standalone_mode=False,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("20270101", "20270102"), 0, "INCONCLUSIVE"),
        (("20270101", "20270103"), 0, "2 SLOWER"),
        (("20270103", "20270101"), 0, "2 FASTER"),
        (("20270101", "20270103", "--fail-on", "slower"), 1, "2 SLOWER"),
        (("20270101", "20270103", "--fail-on", "faster"), 0, "2 SLOWER"),
        (("20270101", "20270103", "--margin", "90%"), 0, "2 EQUIVALENT"),
        (("20270101", "20270103", "--centre", "median"), 0, "median of each launch"),
        (("20270101", "20270104"), 3, "refused: threads: 1 in A, 2 in B"),
        (("20270101", "20270104", "--fail-on", "invalid"), 1, "--allow threads"),
        (("20270101", "20270104", "--allow", "threads"), 0, "allowed: threads: 1 in A, 2 in B"),
        (("20270101", "20270104", "--allow", "all"), 0, "allowed: threads"),
        (("20270101",), 3, "the case could not be measured"),
        (("latest~4", "latest~3", "--phases"), 0, "backward"),
    ],
)
def test_verdicts_and_exit_codes(store: str, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = invoke(store, "compare", *arguments)
    assert done.return_value == code
    assert said in done.output
    assert done.output.startswith("unpaired")
    assert all(len(line) <= 80 for line in done.output.splitlines())


def test_other_formats(store: str) -> None:
    rows = csv.DictReader(
        io.StringIO(invoke(store, "compare", "20270101", "20270103", "--format", "csv").output)
    )
    assert {row["verdict"] for row in rows} == {"SLOWER"}
    document = json.loads(invoke(store, "compare", "20270101", "20270103", "--format", "json").output)
    assert document["baseline"]["id"] == recorded(1).run.id
    assert "| `mine` |" in invoke(store, "compare", "20270101", "20270103", "--format", "markdown").output


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("compare", "latest", "latest"), "compared with itself"),
        (("compare", "nobody"), "there is no run 'nobody'"),
        (("compare", "latest~9"), "too far back"),
        (("compare", "20270101", "--allow", "colour"), "'colour' is nothing that could be allowed"),
        (("compare", "20270101", "--fail-on", "sloer"), "no verdict 'sloer'"),
        (("baseline", "save", "latest"), "'latest' cannot name a baseline"),
        (("baseline", "delete", "main"), "there is no baseline 'main'"),
    ],
)
def test_mistakes(store: str, arguments: tuple[str, ...], problem: str) -> None:
    with pytest.raises(StepmarkError, match=problem) as caught:
        invoke(store, *arguments)
    assert caught.value.remedy


def test_a_baseline_is_saved_used_moved_and_deleted(store: str) -> None:
    assert "no baselines" in invoke(store, "baseline", "list").output
    assert (
        invoke(store, "baseline", "save", "main", "20270101").output == f"main is run {recorded(1).run.id}\n"
    )
    assert "baseline main" in invoke(store, "compare", "main", "20270102").output
    with pytest.raises(StepmarkError, match="a baseline 'main' already"):
        invoke(store, "baseline", "save", "main", "20270102")
    invoke(store, "baseline", "save", "main", "20270102", "--force")
    assert recorded(2).run.id in invoke(store, "baseline", "list").output
    assert "stays in the store" in invoke(store, "baseline", "delete", "main").output
    assert "no baselines" in invoke(store, "baseline", "list").output


@pytest.fixture
def stepmark(tmp_path: Path) -> CommandLine:
    return CommandLine(home=tmp_path).knows_ceilings()


@pytest.mark.process
@pytest.mark.beside
def test_real_runs(stepmark: CommandLine, here: CommandsHere, benches: Path) -> None:
    bench = str(benches / "bench_plain.py")
    only = ("--filter", "mode == 'forward' and features == 16")
    assert here("run", bench, *QUICK, *only).returncode == 0
    assert here("baseline", "save", "before").returncode == 0
    assert here("run", bench, *QUICK, *only).returncode == 0
    same = stepmark("compare", "before", "latest")
    assert same.returncode == 0, same.stderr
    assert same.stdout.startswith("unpaired")
    assert "baseline before" in same.stdout
    assert "not known: 2 % assumed" in same.stdout
    assert all(len(line) <= 80 for line in same.stdout.splitlines())
    assert stepmark("run", bench, *QUICK, *only, "--threads", "2").returncode == 0
    refused = here("compare", "before")
    assert refused.returncode == 3
    assert "--allow threads" in refused.stdout
    mistake = stepmark("compare", "befroe")
    assert mistake.returncode == 2
    assert "did you mean before" in mistake.stderr
