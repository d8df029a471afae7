"""A user's mistake: one line on what is wrong, one on what to do, exit code 2, never a bare traceback."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from stepmark.store.store import Store
from tests.support.commands import QUICK, CommandLine
from tests.support.commands_here import CommandsHere
from tests.support.mounts import private_mount


@pytest.fixture
def stepmark(tmp_path: Path) -> CommandLine:
    (tmp_path / "bench_mine.py").write_text("raise SystemError('never imported')\n")
    return CommandLine(home=tmp_path)


def check(stepmark: CommandLine | CommandsHere, arguments: tuple[str, ...], problem: str, remedy: str) -> str:
    """Two lines at the end of what is said, and what is said."""
    done = stepmark(*arguments)
    assert done.returncode == 2, (done.stdout, done.stderr)
    *_, first, second = done.stderr.rstrip("\n").splitlines()
    assert first.startswith("stepmark: ")
    assert problem in first
    assert second.startswith("  ")
    assert remedy in second
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem", "remedy"),
    [
        (("run", "dmeo"), "no suite or file 'dmeo'", "did you mean demo?"),
        (("rum",), "no command 'rum'", "did you mean run?"),
        (("run", "demo", "--mode", "train,graph"), "no CUDA graphs on cpu", "--mode compiled"),
        (("show",), "no runs", "stepmark run"),
    ],
)
def test_mistakes_as_a_shell_sees_them(
    stepmark: CommandLine, arguments: tuple[str, ...], problem: str, remedy: str
) -> None:
    check(stepmark, arguments, problem, remedy)


@pytest.mark.parametrize(
    ("arguments", "problem", "remedy"),
    [
        (("run", "bench_mime.py"), "no suite or file 'bench_mime.py'", "bench_mine.py"),
        (("run",), "nothing to run", "stepmark list"),
        (("run", "demo", "--margin", "x"), "'x' is not a fraction", "1%"),
        (("run", "demo", "--margin", "3"), "'3' is not between 0 and 1", "1%"),
        (("run", "demo", "--budget", "soon"), "'soon' is not a duration", "90s"),
        (("run", "demo", "--timeout", "0s"), "timeout: 0 leaves nothing to measure", "120s"),
        (("run", "demo", "--threads", "many"), "'many' is not a number of threads", "--threads auto"),
        (("run", "demo", "--fail-on", "sloer"), "no verdict or finding 'sloer'", "slower"),
        (("run", "demo", "--accept", "dead-wrok"), "no finding 'dead-wrok'", "did you mean dead-work?"),
        (("explain", "backward"), "no finding 'backward'", "did you mean backward-does-nothing?"),
        (("audit",), "no runs", "stepmark run"),
        (("run", "demo", "--set", "features"), "sets nothing", "features=512,1024"),
        (("run", "demo", "--mode", "backwards"), "no mode 'backwards'", "train, forward"),
        (("run", "--resume", "latest"), "no runs", "stepmark run"),
        (("versus", "torch.nn.ReLU()", "--input", "8"), "one expression", "two or more"),
        (("versus", "a", "b", "--input", "8xx"), "'8xx' is not a shape", "64x1024"),
        (("versus", "a(", "b", "--input", "8"), "'a(' is not a Python expression", "quote it"),
        (("versus", "a", "b", "--input", "8", "--loss", "c("), "'c(' is not a Python expression", "quote it"),
        (("list", "nosuchfolder"), "'nosuchfolder' is no folder", "--cases"),
        (("export", "latest"), "no runs", "stepmark run"),
        (("run", "demo", "--store", "."), "is a directory", "name a file"),
        (("run", "demo", "--store", "/dev/null/x.db"), "cannot be made", "--store"),
    ],
)
def test_mistakes_found_before_anything_is_imported(
    here: CommandsHere, arguments: tuple[str, ...], problem: str, remedy: str
) -> None:
    check(here, arguments, problem, remedy)


@pytest.mark.process
@pytest.mark.beside
def test_what_a_device_cannot_do(here: CommandsHere) -> None:
    check(here, ("run", "demo", "--cache", "cold"), "cold on CUDA only", "--cache warm")


def test_a_file_that_is_no_store(here: CommandsHere, tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("dear diary, " * 100)
    check(here, ("show", "--store", "notes.db"), "notes.db", "--store")


def test_a_store_of_a_newer_stepmark(here: CommandsHere, tmp_path: Path) -> None:
    made = here("run", "nothing-here", "--store", "new.db")
    assert made.returncode == 2
    Store.open(f"sqlite:///{tmp_path / 'new.db'}").close()
    with sqlite3.connect(tmp_path / "new.db") as connection:
        connection.execute("update stepmark_schema set version_num = '9999'")
    check(here, ("runs", "--store", "new.db"), "newer stepmark", "stepmark")


@pytest.mark.process
@pytest.mark.beside
def test_a_read_only_disk(tmp_path: Path) -> None:
    fixed = tmp_path / "fixed"
    fixed.mkdir()
    inside = private_mount('mount --bind "$D" "$D" && mount -o remount,bind,ro "$D"', fixed)
    stepmark = CommandLine(home=tmp_path, before=inside)
    check(stepmark, ("run", "demo", "--store", str(fixed / "a.db")), "read-only", "--store")


NO_BASELINE = """
import stepmark as sm
suite = sm.Suite("plain", axes={"features": [16]}, modes=["forward"])
@suite.variant
def one(c): ...
@suite.variant
def two(c): ...
"""
NOTHING = NO_BASELINE.replace("@suite.variant\ndef one", "@suite.variant(baseline=True)\ndef one")


IN_THE_FILE = [
    (NO_BASELINE, (), "suite 'plain' has no baseline", "@suite.variant(baseline=True)"),
    (NOTHING, (), "variant 'one' of suite 'plain' returned nothing", "mend it"),
    (NOTHING, ("--set", "featuers=3"), "no axis 'featuers'", "did you mean features?"),
    (NOTHING, ("--set", "features=wide"), "'wide' is not a value for axis 'features'", "16"),
    (NOTHING, ("--filter", "features <"), "filter 'features <' does not parse", "features<2048"),
    (NOTHING, ("--filter", "tokens < 3"), "unknown axis 'tokens'", "features"),
    (NOTHING, ("--filter", "features > 99"), "leaves nothing to measure", "--cases"),
    (NOTHING, ("--device", "tpu"), "no device 'tpu'", "use cpu"),
    ("import stepmark\n", (), "defines no suite", "stepmark.Suite"),
    ("import nowhere_to_be_found\n", (), "failed to import: ModuleNotFoundError", "traceback"),
    ("def broken(:\n", (), "failed to import: SyntaxError", "traceback"),
]


@pytest.mark.process
@pytest.mark.beside
@pytest.mark.parametrize(("text", "options", "problem", "remedy"), IN_THE_FILE[:2])
def test_mistakes_in_the_bench_file_as_a_shell_sees_them(
    stepmark: CommandLine,
    tmp_path: Path,
    text: str,
    options: tuple[str, ...],
    problem: str,
    remedy: str,
) -> None:
    (tmp_path / "bench_mine.py").write_text(text)
    check(stepmark, ("run", "bench_mine.py", *QUICK, *options), problem, remedy)


@pytest.mark.process
@pytest.mark.beside
@pytest.mark.parametrize(("text", "options", "problem", "remedy"), IN_THE_FILE)
def test_mistakes_in_the_bench_file_or_about_it(
    here: CommandsHere,
    tmp_path: Path,
    text: str,
    options: tuple[str, ...],
    problem: str,
    remedy: str,
) -> None:
    """Real workers find them, of an engine that has started and goes on."""
    (tmp_path / "bench_mine.py").write_text(text)
    check(here, ("run", "bench_mine.py", *QUICK, *options), problem, remedy)


@pytest.mark.process
@pytest.mark.beside
def test_the_traceback_of_a_bench_file_is_its_own(stepmark: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "bench_mine.py").write_text("import stepmark\nundefined_name\n")
    said = check(stepmark, ("run", "bench_mine.py"), "failed to import: NameError", "traceback")
    assert 'bench_mine.py", line 2' in said
    assert "stepmark/engines" not in said
