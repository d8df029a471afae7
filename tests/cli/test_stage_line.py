"""The stage line: in place on a terminal, a line now and then elsewhere, nothing when quiet."""

from __future__ import annotations

import pytest

from stepmark.cli import stage_line as module
from stepmark.cli.stage_line import PlainStageLine, TerminalStageLine, judging, stage_line, stages_of
from tests.support.recordings import make_recording


def test_on_a_terminal_it_is_redrawn_and_erased(capsys: pytest.CaptureFixture[str]) -> None:
    shown = TerminalStageLine()
    shown.say("first")
    shown.tick()
    shown.close()
    drawn = capsys.readouterr().err.split("\r")  # click takes the escape out where nobody would obey it
    assert [part.split("  ")[-1] for part in drawn] == ["", "first", "first", ""]


def test_elsewhere_it_speaks_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter([0.0, 1.0, 5.0])
    monkeypatch.setattr("stepmark.cli.stage_line.time.monotonic", lambda: next(moments))
    shown = PlainStageLine()
    for stage in ("first", "second", "third"):
        shown.say(stage)
    assert capsys.readouterr().err == "stepmark: first\nstepmark: third\n"


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with stage_line(quiet=True) as shown:
        shown.say("first")
        shown.tick()
    assert capsys.readouterr().err == ""


def test_of_large_runs_it_is_said_what_is_made_of_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = make_recording(num_launches=3)
    for large, said in (
        (len(recording.trials) + 1, ""),
        (len(recording.trials), "stepmark: judging 2 cases\n"),
    ):
        monkeypatch.setattr(module, "LARGE", large)
        with stages_of(recording) as shown:
            shown.say(judging(recording))
        assert capsys.readouterr().err == said
    assert judging(recording) == f"judging {len(recording.run.cases)} cases"
