"""`stepmark run` as a user meets it: real processes, real store, exit codes, Ctrl-C, kill -9, resume."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stepmark.engines.local import LocalEngine
from stepmark.errors import EngineError
from stepmark.measure.assignment import Assignment
from stepmark.records.trial import Trial
from tests.support.commands import QUICK, CommandLine
from tests.support.commands_here import CommandsHere
from tests.support.mounts import private_mount

pytestmark = [pytest.mark.process, pytest.mark.beside]

ONE_CELL = ("--mode", "forward", "--set", "features=16")


@pytest.fixture
def stepmark(tmp_path: Path) -> CommandLine:
    return CommandLine(home=tmp_path).knows_ceilings()


@pytest.fixture
def newcomer(tmp_path: Path) -> CommandLine:
    """Of somebody who runs it for the first time: no store, no ceilings."""
    return CommandLine(home=tmp_path)


def wait_for_launches(stepmark: CommandLine, process: subprocess.Popen[str], count: int) -> None:
    """Until the store holds this many launches; a reader never disturbs the writer."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if stepmark.store.exists():
            try:
                with closing(sqlite3.connect(f"file:{stepmark.store}?mode=ro", uri=True)) as connection:
                    if connection.execute("select count(*) from launches").fetchone()[0] >= count:
                        return
            except sqlite3.OperationalError:
                pass
        time.sleep(0.02)
    raise AssertionError(f"no launch was stored: {process.communicate(timeout=5)}")


def launches(document: Any) -> list[Any]:
    return [trial for trial in document["trials"] if trial["type"] == "launch"]


def solos(document: Any) -> list[Any]:
    return [trial for trial in document["trials"] if trial["type"] == "solo"]


def gone(stepmark: CommandLine) -> bool:
    deadline = time.monotonic() + 5
    while stepmark.leftovers() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not stepmark.leftovers()


def test_a_bench_file_becomes_a_table_with_verdicts(newcomer: CommandLine, benches: Path) -> None:
    done = newcomer("run", str(benches / "bench_plain.py"), *QUICK, "--filter", "mode == 'train'")
    assert done.returncode == 0, done.stderr
    assert "plain  features=16" in done.stdout
    assert "plain  features=32" in done.stdout
    for word in ("dense", "bare", "forward", "loss", "backward", "optimizer", "remainder", "baseline"):
        assert word in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert newcomer.store.exists()
    again = newcomer("show")
    assert again.stdout == done.stdout, "verdicts are computed from stored values"
    assert gone(newcomer)


def test_options_reach_the_run(stepmark: CommandLine, benches: Path) -> None:
    done = stepmark(
        *("run", str(benches / "bench_plain.py"), *QUICK, "--set", "features=8,16", "--mode", "forward"),
        *("--filter", "features < 16 or mode == 'train'", "--filter", "mode == 'forward'"),
        *("--dtype", "bfloat16", "--seed", "7", "--threads", "2", "--margin", "5%", "--launches", "3"),
        *("--isolation", "separate", "--format", "json", "--quiet"),
        *("--no-audit", "--accept", "dead-work,phase-bleed", "--accept", "dead-work"),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    run = document["run"]
    assert run["settings"]["audit"] is False
    assert run["policy"]["accepted"] == ["dead-work", "phase-bleed"]
    solos = [trial for trial in document["trials"] if trial["type"] == "solo"]
    assert [solo["evidence"]["inspection"] for solo in solos] == [None] * len(solos)
    assert run["settings"]["seed"] == 7
    assert run["settings"]["threads"] == 2
    assert run["settings"]["launches"] == 3
    assert run["settings"]["isolation"] == "separate"
    assert run["policy"]["margin"] == 0.05
    assert run["environment"]["torch"]["threads"] == 2
    assert run["environment"]["command"][:2] == ["stepmark", "run"]
    assert {case["cell"]["dtype"] for case in run["cases"]} == {"bfloat16"}
    assert {case["cell"]["mode"] for case in run["cases"]} == {"forward"}
    assert {tuple(map(tuple, case["cell"]["axes"])) for case in run["cases"]} == {(("features", 8),)}
    assert done.stderr == ""


def test_failures_are_rows_and_exit_code_3(stepmark: CommandLine, here: CommandsHere, benches: Path) -> None:
    condition = "variant in ('raises_building', 'segfaults', 'exits', 'torch_memory', 'unsupported')"
    done = stepmark("run", str(benches / "bench_failing.py"), *QUICK, "--filter", condition)
    assert done.returncode == 3, done.stderr
    for text in ("crashed", "out-of-memory", "unsupported", "SIGSEGV", "exit code 7", "no such layer"):
        assert text in done.stdout
    details = here("show", "--failures")
    assert "bench_failing.py" in details.stdout
    assert "Fatal Python error: Segmentation fault" in details.stdout


def test_fail_on_is_exit_code_1(here: CommandsHere, benches: Path) -> None:
    condition = "variant == 'raises_building'"
    done = here(
        "run", str(benches / "bench_failing.py"), *QUICK, "--filter", condition, "--fail-on", "invalid"
    )
    assert done.returncode == 1
    assert "INVALID" in done.stdout


def test_a_budget_ends_the_run(here: CommandsHere, benches: Path) -> None:
    done = here("run", str(benches / "bench_plain.py"), "--budget", "0.5s", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["run"]["status"] == "complete"
    assert len(launches(document)) < 200


@pytest.mark.parametrize("act", ["changed", "gone"])
def test_a_bench_file_that_changes_stops_the_run(
    stepmark: CommandLine, here: CommandsHere, benches: Path, act: str
) -> None:
    """Instead of one sample of two versions, or of cases that are crashed for ever by a file half written."""
    bench = stepmark.home / "bench_plain.py"
    bench.write_text((benches / "bench_plain.py").read_text())
    process = stepmark.start("run", str(bench), *ONE_CELL, "--launches", "100")
    wait_for_launches(stepmark, process, 2)
    before = bench.read_text()
    if act == "gone":
        bench.unlink()
    else:
        bench.write_text(before.replace("bias=False", "bias=True"))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "stepmark: bench_plain.py was changed, moved or deleted while it was measured" in err
    document = json.loads(here("export", "latest", "--format", "json").stdout)
    assert document["run"]["status"] == "interrupted"
    assert all(lane["failure"] is None for launch in launches(document) for lane in launch["lanes"])
    bench.write_text(before)
    assert stepmark("run", "--resume", "latest", "--quiet").returncode == 0
    assert gone(stepmark)


def test_ctrl_c_stops_at_once_and_leaves_nothing_behind(
    stepmark: CommandLine, here: CommandsHere, benches: Path
) -> None:
    process = stepmark.start("run", str(benches / "bench_plain.py"), *ONE_CELL, "--launches", "100")
    wait_for_launches(stepmark, process, 2)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - begin < 10
    assert process.returncode == 130
    assert "stopped; what was measured is in run" in err
    assert "--resume" in err
    assert "Traceback" not in err
    assert "dense" in out, "what was measured is shown"
    assert gone(stepmark)
    assert "interrupted" in here("runs").stdout


@pytest.fixture
def heeding_hangups() -> Iterator[None]:
    """As without nohup, whatever the tests were started with: what they start inherits it."""
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("heeding_hangups")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_are_like_ctrl_c(
    stepmark: CommandLine, here: CommandsHere, benches: Path, number: signal.Signals
) -> None:
    process = stepmark.start(
        "run", str(benches / "bench_plain.py"), *ONE_CELL, "--launches", "100", "--quiet"
    )
    wait_for_launches(stepmark, process, 1)
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "--store" not in err, "the store of the environment needs no naming"
    assert gone(stepmark)
    assert "interrupted" in here("runs").stdout


def test_where_workers_cannot_be_had_any_more_what_was_measured_is_shown(
    engine: LocalEngine, here: CommandsHere, benches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    perform = engine.perform
    done: list[Trial] = []

    def perform_five(assignment: Assignment) -> Trial:
        if len(done) == 5:
            raise EngineError("no more workers", remedy="buy some")
        done.append(perform(assignment))
        return done[-1]

    monkeypatch.setattr(engine, "perform", perform_five)
    stopped = here("run", str(benches / "bench_plain.py"), *QUICK, *ONE_CELL, "--launches", "5")
    assert stopped.returncode == 2
    assert stopped.stderr.endswith("stepmark: no more workers\n  buy some\n")
    assert "dense" in stopped.stdout
    assert "interrupted" in here("runs").stdout


def test_the_store_survives_kill_9_and_the_run_resumes(
    stepmark: CommandLine, here: CommandsHere, benches: Path
) -> None:
    arguments = ("run", str(benches / "bench_plain.py"), *QUICK, "--launches", "6", "--mode", "forward")
    process = stepmark.start(*arguments, "--no-early-stop", "--margin", "50%")  # nothing to confirm
    randomness = random.Random(5)
    resumed = 0
    while resumed < 3:
        wait_for_launches(stepmark, process, 2 * resumed + 1)
        time.sleep(randomness.uniform(0.0, 0.4))
        process.kill()
        process.communicate()
        assert gone(stepmark), "workers die with their runner"
        with closing(sqlite3.connect(stepmark.store)) as connection:
            assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
        assert here("runs").returncode == 0
        resumed += 1
        process = stepmark.start("run", "--resume", "latest")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    document = json.loads(here("export", "latest", "--format", "json").stdout)
    assert document["run"]["status"] == "complete"
    cells = [(launch["cell"]["axes"][0][1], launch["role"]) for launch in launches(document)]
    assert [cells.count((features, "measure")) for features in (16, 32)] == [6, 6]
    alone = [cells.count((features, "alone")) for features in (16, 32)]
    assert min(alone) >= 2, "more where a busy machine makes a level in company look changed"
    numbers = [(launch["cell"]["axes"][0][1], launch["number"]) for launch in launches(document)]
    assert len({*numbers}) == len(numbers)
    assert len(solos(document)) == 4


def test_a_new_run_measures_only_what_another_is_missing(
    here: CommandsHere, benches: Path, tmp_path: Path
) -> None:
    told = ("run", str(benches / "bench_plain.py"), *QUICK, "--mode", "forward", "--format", "json")
    first = here(*told, "--filter", "features == 16")
    assert first.returncode == 0, first.stderr
    before = json.loads(first.stdout)["run"]["id"]
    rest = here(*told, "--missing-from", before, "--missing-from", "h200-2026-11")
    assert "1 of 2 cells are left out: they have a launch elsewhere (coverage, not verdicts)" in rest.stderr
    second = json.loads(rest.stdout)
    assert second["run"]["id"] != before
    assert {tuple(map(tuple, case["cell"]["axes"])) for case in second["run"]["cases"]} == {
        (("features", 32),)
    }
    nothing = here(*told, "--missing-from", before, "--missing-from", second["run"]["id"])
    assert nothing.returncode == 2
    assert "nothing is missing" in nothing.stderr
    copied = tmp_path / "bench_copied.py"
    copied.write_text((benches / "bench_plain.py").read_text())
    another = here("run", str(copied), *told[2:], "--missing-from", before)
    assert another.returncode == 2
    assert "of bench_plain.py, here of bench_copied.py" in another.stderr
    assert here("run", "--resume", before, "--missing-from", before).returncode == 2


def test_resume_measures_only_what_is_missing_and_refuses_a_changed_bench_file(
    stepmark: CommandLine, here: CommandsHere, tmp_path: Path, benches: Path
) -> None:
    bench = tmp_path / "bench_changing.py"
    text = (benches / "bench_plain.py").read_text()
    bench.write_text(text)
    told = ("--format", "json", "--quiet")
    first = json.loads(here("run", str(bench), *QUICK, *ONE_CELL, *told).stdout)
    again = stepmark("run", "--resume", first["run"]["id"][:15], *told)
    assert again.returncode == 0, again.stderr
    second = json.loads(again.stdout)
    assert second["trials"] == first["trials"]
    assert again.stderr == (
        f"stepmark: run {first['run']['id']} came to its end, nothing of it is missing; "
        "more launches are a new run\n"
    )
    bench.write_text(text.replace("def bare", "def naked"))
    done = here("run", "--resume", "latest")
    assert done.returncode == 2
    assert "the bench file's variants changed since" in done.stderr


def test_two_runs_at_once_into_one_store(newcomer: CommandLine, benches: Path) -> None:
    """Separate: two runs at once may find that company changes their cases' levels, and measure more."""
    bench = str(benches / "bench_plain.py")
    options = (*QUICK, *ONE_CELL, "--launches", "4", "--no-audit", "--isolation", "separate")
    processes = [newcomer.start("run", bench, *options, "--seed", str(seed)) for seed in (1, 2)]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    with sqlite3.connect(newcomer.store) as connection:
        rows = connection.execute("select run_id, record from launches").fetchall()
    measuring = Counter(run for run, record in rows if json.loads(record)["role"] == "measure")
    assert [*measuring.values()] == [4, 4]


def test_versus_needs_no_file(here: CommandsHere) -> None:
    done = here(
        *("versus", "torch.nn.Linear(64,64)", "torch.nn.Linear(64,64,bias=False)", "torch.nn.Linear(64,64)"),
        *("--input", "8x64", *QUICK, "--optimizer", "torch.optim.SGD"),
    )
    assert done.returncode == 0, done.stderr
    assert "Linear(64,64,bias=False)" in done.stdout
    assert "Linear(64,64)#2" in done.stdout
    assert "optimizer" in done.stdout


def test_the_html_file_is_written_even_if_the_other_run_has_nothing_in_common(
    here: CommandsHere, benches: Path, tmp_path: Path
) -> None:
    here("run", str(benches / "bench_failing.py"), *QUICK, "--filter", "variant == 'raises_building'")
    html = tmp_path / "report.html"
    more = ("--against", "latest", "--html", str(html))
    done = here("run", str(benches / "bench_plain.py"), *QUICK, *ONE_CELL, *more)
    assert done.returncode == 2
    assert "have no case in common" in done.stderr
    assert "dense" in done.stdout
    assert html.exists()


def test_a_full_disk_keeps_what_was_measured(tmp_path: Path, benches: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    inside = private_mount('mount -t tmpfs -o size=700k tmpfs "$D"', small)
    stepmark = CommandLine(home=tmp_path, before=inside)
    bench = str(benches / "bench_plain.py")
    much = ("--launches", "400", "--no-early-stop", "--no-audit", "--store", str(small / "a.db"))
    done = stepmark("run", bench, *QUICK, *ONE_CELL, *much)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "full" in done.stderr
    assert "dense" in done.stdout, "what was measured is shown"
    assert gone(stepmark)
