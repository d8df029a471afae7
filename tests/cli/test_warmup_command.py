"""`stepmark warmup` with real processes: slow starts of known causes, in every format."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import CommandLine
from tests.support.commands_here import CommandsHere

pytestmark = [pytest.mark.process, pytest.mark.beside]

BENCH = Path(__file__).parents[1] / "benches" / "bench_warmup.py"


@pytest.fixture
def stepmark(tmp_path: Path) -> CommandLine:
    return CommandLine(home=tmp_path)


def looked_at(stepmark: CommandLine | CommandsHere, case: str) -> dict[str, Any]:
    """Busy machines may hide a slow start in their noise, so most tests look at what was recorded."""
    options = ("--iterations", "24", "--launches", "3", "--format", "json")
    done = stepmark("warmup", str(BENCH), "--case", case, *options)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def named(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {cause["kind"]: cause for cause in document["summary"]["causes"]}


def test_every_launch_is_a_fresh_process_with_the_very_first_iteration(stepmark: CommandLine) -> None:
    """Two calls that spin for 30 ms: no gauge can tell why, and none is blamed."""
    document = looked_at(stepmark, "works")
    trials = document["recording"]["trials"]
    assert len({trial["process"]["pid"] for trial in trials}) == 3
    for trial in trials:
        times = [iteration["nanoseconds"][0] for iteration in trial["iterations"]]
        assert len(times) == 24
        assert min(times[:2]) >= 32_000_000, "2 ms of work after 30 ms of something else"
    assert set(named(document)) <= {"unknown", "clock-ramp"}
    assert not stepmark.store.exists(), "nothing is stored"
    assert not stepmark.leftovers()


def test_lazy_imports_are_met_anew_in_every_launch(stepmark: CommandLine) -> None:
    document = looked_at(stepmark, "imports")
    for trial in document["recording"]["trials"]:
        first, *others = trial["iterations"]
        assert {"wsgiref", "xml"} <= set(first["new_modules"])
        assert first["after"]["modules"] - trial["before"]["modules"] >= 10
        assert not any("wsgiref" in iteration["new_modules"] for iteration in others)


def test_memory_that_is_taken_in_the_first_calls(here: CommandsHere) -> None:
    document = looked_at(here, "allocates")
    for trial in document["recording"]["trials"]:
        faults = [trial["before"]["minor_faults"]]
        faults += [iteration["after"]["minor_faults"] for iteration in trial["iterations"]]
        resident = [iteration["after"]["resident_bytes"] for iteration in trial["iterations"]]
        assert resident[2] - trial["before"]["resident_bytes"] > 90 << 20
        assert faults[3] - faults[0] > faults[-1] - faults[3]
        assert trial["seconds_per_fault"] > 0


def test_threads_that_start(here: CommandsHere) -> None:
    document = looked_at(here, "threads")
    for trial in document["recording"]["trials"]:
        assert trial["iterations"][1]["after"]["threads"] - trial["before"]["threads"] == 2


def test_optimizer_state_is_made_in_the_first_step(here: CommandsHere) -> None:
    document = looked_at(here, "adam")
    for trial in document["recording"]["trials"]:
        assert trial["layout"]["phases"] == ["step", "forward", "backward", "optimizer"]
        states = [iteration["after"]["optimizer_state_bytes"] for iteration in trial["iterations"]]
        assert trial["before"]["optimizer_state_bytes"] == 0
        assert len(set(states)) == 1
        assert states[0] > 2 * 24 * 256 * 256 * 4
    assert document["summary"]["phases"][0]["phase"] == "step"


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler on a CPU")
def test_compilation_by_torchs_own_clock(here: CommandsHere) -> None:
    document = looked_at(here, "compiled")
    compilation = named(document)["compilation"]
    assert (compilation["first"], compilation["last"], compilation["launches"]) == (0, 0, 3)
    assert compilation["share"] > 0.5
    assert document["summary"]["automatic"] != 0, "or None, where noise hides the steady state"


def test_the_report_on_a_terminal_of_80_columns(here: CommandsHere) -> None:
    done = here("warmup", str(BENCH), "--case", "works", "--iterations", "20", "--launches", "2")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    for text in ("first / steady", "± std", "automatic", "log scale", "not stored"):
        assert text in done.stdout


def test_markdown_from_fresh_interpreters(stepmark: CommandLine) -> None:
    done = stepmark(
        *("warmup", str(BENCH), "--case", "flat", "--iterations", "4", "--launches", "1"),
        *("--format", "markdown", "--start", "spawn", "--quiet"),
    )
    assert done.returncode == 0, done.stderr
    assert "### `slow_start/flat`" in done.stdout
    assert "workers by spawn" in done.stdout
    assert done.stderr == ""


def test_a_step_that_fails_on_the_way(stepmark: CommandLine, here: CommandsHere) -> None:
    arguments = ("warmup", str(BENCH), "--case", "raises", "--launches", "2")
    done = stepmark(*arguments)
    assert done.returncode == 2
    assert "no launch came to its end: crashed in step: RuntimeError: not a fourth time" in done.stderr
    kept = here(*arguments, "--format", "json")
    assert kept.returncode == 3
    document = json.loads(kept.stdout)
    assert [len(trial["iterations"]) for trial in document["recording"]["trials"]] == [3, 3]
    assert "bench_warmup.py" in document["recording"]["trials"][0]["failure"]["traceback"]
    assert document["summary"] is None


def test_a_mistake_as_a_shell_sees_it(stepmark: CommandLine) -> None:
    check_mistake(stepmark, ("--case", "mistaken"), "returned nothing")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "the target has 9 cases"),
        (("--case", "nobody"), "no case is called 'nobody'"),
        (("--case", "flat", "--threads", "none"), "'none' is not a number of threads"),
        (("--case", "flat", "--set", "features=3"), "there is no axis 'features'"),
    ],
)
def test_mistakes(here: CommandsHere, arguments: tuple[str, ...], expected: str) -> None:
    check_mistake(here, arguments, expected)


def check_mistake(stepmark: CommandLine | CommandsHere, arguments: tuple[str, ...], expected: str) -> None:
    done = stepmark("warmup", str(BENCH), *arguments)
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
