"""`plot` over a store of synthetic recordings: a file for every kind, and clear refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stepmark.cli import cli
from stepmark.cli.plot_command import KINDS, OF_A_CASE
from stepmark.errors import StepmarkError
from stepmark.report.figures.figure import Kind
from stepmark.store.store import Store
from tests.support.recordings import make_recording

CASE = "mine[features=512]"


@pytest.fixture
def store(tmp_path: Path) -> str:
    place = str(tmp_path / "runs.db")
    recording = make_recording(
        variants={"dense": 1.0, "mine": 1.2}, axes={"features": (512, 1024)}, num_launches=4, num_rounds=12
    )
    with Store.open(f"sqlite:///{place}") as opened:
        opened.add_recording(recording)
    return place


def plot(store: str, *words: str) -> Result:
    return CliRunner().invoke(cli, ["plot", *words, "--store", store])


def refusal(result: Result) -> StepmarkError:
    assert isinstance(result.exception, StepmarkError), result.output
    return result.exception


def test_the_kinds_are_those_of_figures() -> None:
    assert [kind.value for kind in Kind] == list(KINDS)


@pytest.mark.parametrize("kind", ["forest", "sweep", "phases", "warmup", "history"])
def test_every_kind_gives_one_file(kind: str, store: str, tmp_path: Path) -> None:
    file = tmp_path / "chart.svg"
    case = ("--case", CASE) if kind in OF_A_CASE else ()
    done = plot(store, "--kind", kind, *case, "-o", str(file))
    assert done.exit_code == 0, done.exception
    assert done.output.startswith(str(file))
    assert file.read_text().startswith("<svg")


def test_several_figures_are_numbered(store: str, tmp_path: Path) -> None:
    done = plot(store, "--kind", "samples", "--case", CASE, "--dark", "-o", str(tmp_path / "s.PNG"))
    assert done.exit_code == 0, done.exception
    assert [(tmp_path / f"s-{n}.PNG").read_bytes()[:4] for n in (1, 2)] == [b"\x89PNG"] * 2


def test_what_the_run_does_not_have_is_said(store: str, tmp_path: Path) -> None:
    out = ("-o", str(tmp_path / "x.svg"))
    assert "has nothing for --kind roofline" in refusal(plot(store, "--kind", "roofline", *out)).problem
    assert "has nothing for --kind memory" in refusal(plot(store, "--kind", "memory", *out)).problem
    assert "no suite 'other'" in refusal(plot(store, "--kind", "forest", "--suite", "other", *out)).problem


def test_a_case_is_asked_for_where_there_are_several(store: str, tmp_path: Path) -> None:
    out = ("-o", str(tmp_path / "x.svg"))
    error = refusal(plot(store, "--kind", "samples", *out))
    assert "4 cases" in error.problem
    assert "mine[features=512]" in error.detail
    assert "--case" in error.remedy
    assert "no case" in refusal(plot(store, "--kind", "warmup", "--case", "nobody", *out)).problem
    assert (
        "no phase 'x'"
        in refusal(plot(store, "--kind", "samples", "--case", CASE, "--phase", "x", *out)).problem
    )


def test_options_that_do_not_fit_are_refused(store: str, tmp_path: Path) -> None:
    out = ("-o", str(tmp_path / "x.svg"))
    assert "--case does not go" in refusal(plot(store, "--kind", "forest", "--case", CASE, *out)).problem
    assert "--phase does not go" in refusal(plot(store, "--kind", "warmup", "--phase", "step", *out)).problem
    assert "neither SVG nor PNG" in refusal(plot(store, "--kind", "forest", "-o", "chart.pdf")).problem
    assert (
        "no folder" in refusal(plot(store, "--kind", "forest", "-o", str(tmp_path / "a" / "x.svg"))).problem
    )
