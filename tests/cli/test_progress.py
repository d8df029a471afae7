"""The progress display: what it forecasts, and what it draws on a real terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from stepmark.cli.progress import BarDisplay, Forecast, LineDisplay
from stepmark.records.outcome import Cause, Failure, Outcome, Stage
from tests.support.commands import QUICK, CommandLine
from tests.support.recordings import make_recording


def test_the_forecast_knows_nothing_before_the_first_launch() -> None:
    forecast = Forecast(budget=None)
    recording = make_recording(num_launches=2)
    forecast.note(recording.solos[0])
    assert forecast.left(5) is None
    launch = recording.launches[0]
    forecast.note(launch)
    assert forecast.left(5) == pytest.approx(5 * launch.seconds)


def test_a_budget_is_the_forecast() -> None:
    assert 59.0 < (Forecast(budget=60.0).left(1000) or 0.0) <= 60.0
    assert Forecast(budget=60.0).over == ""
    assert Forecast(budget=None).over == ""


def test_a_budget_that_is_over_forecasts_nothing() -> None:
    """A compilation, or a slow launch, that has begun goes on: `0 s left` would be said for minutes."""
    assert Forecast(budget=0.0).left(3) is None
    assert Forecast(budget=0.0).over == "the budget is over: ending what has begun"


@pytest.mark.parametrize(
    ("budget", "done", "counted"), [(None, 3, "3 of 4536"), (90.0, 3, "3 trials"), (90.0, 1, "1 trial")]
)
def test_under_a_budget_nobody_counts_what_will_not_be_measured(
    budget: float | None, done: int, counted: str
) -> None:
    assert Forecast(budget=budget).count(done, 4536) == counted


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds pass from one look to the next."""
    moments = iter(range(0, 1000, 10))
    monkeypatch.setattr("stepmark.cli.progress.time.monotonic", lambda: float(next(moments)))


def said_after(done: int, total: int, capsys: pytest.CaptureFixture[str], *, budget: float | None) -> str:
    """Of a display that writes lines."""
    recording = make_recording(num_launches=2)
    display = LineDisplay()
    display.begins(replace(recording.run, settings=replace(recording.run.settings, budget=budget)), 0)
    display.advances(recording.launches[0], done, total)
    return capsys.readouterr().err


@pytest.mark.usefixtures("slow_clock")
def test_without_a_terminal_a_line_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    said = said_after(3, 4536, capsys, budget=90.0)
    assert re.fullmatch(r"stepmark: measuring, 3 trials done, about \d+ s left\n", said)


@pytest.mark.usefixtures("slow_clock")
def test_no_upper_bound_is_promised_where_fresh_launches_may_confirm(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A flagged cell of a sweep gets launches that nobody counted before."""
    said = said_after(99, 99, capsys, budget=None)
    assert "99 of 99 done, about" in said
    assert "at most" not in said


def test_what_a_case_says_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    trial = make_recording(num_launches=1).solos[0]
    message = "RuntimeError: \x1b]0;owned\x07 \x1b[2J gone\r\x9b1A"
    failure = Failure(
        outcome=Outcome.CRASHED, cause=Cause.EXCEPTION, stage=Stage.STEP, message=message, traceback=""
    )
    display = BarDisplay()
    display.advances(replace(trial, evidence=None, samples=(), failure=failure), 1, 9)
    display.close()
    said = capsys.readouterr().err
    assert f"{trial.case.id}: RuntimeError:" in said.replace("\n", "")
    assert not set("\x1b\x07\x9b\r") & set(said)


@pytest.mark.process
@pytest.mark.beside
def test_on_a_terminal_there_is_a_bar_that_goes_away(tmp_path: Path, benches: Path) -> None:
    stepmark = CommandLine(home=tmp_path).knows_ceilings()
    less = ("--mode", "forward", "--set", "features=16")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "stepmark", "run", str(benches / "bench_plain.py"), *QUICK, *less],
        env={**stepmark.environment, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    os.close(theirs)
    drawn = b""
    try:
        while chunk := os.read(ours, 65536):
            drawn += chunk
    except OSError:  # the terminal's other end was closed
        pass
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", drawn.decode())
    assert process.returncode == 0
    assert "starting workers" in text
    assert "measuring" in text
    assert "left" in text
    assert "measuring ━" not in out
