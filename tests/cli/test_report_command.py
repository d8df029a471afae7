"""`stepmark report` over a store of synthetic recordings, and `stepmark run --html` with real workers."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from platformdirs import user_cache_path

from stepmark.cli import cli
from stepmark.cli.html_file import checked_html
from stepmark.errors import UsageError
from stepmark.records.run import Recording
from stepmark.store.store import Store
from tests.support.commands import QUICK, CommandLine
from tests.support.whole_runs import whole_run


def keep(recording: Recording, place: Path) -> str:
    with Store.open(f"sqlite:///{place}") as store:
        store.begin(recording.run)
        for trial in recording.trials:
            store.append(recording.run.id, trial)
    return str(place)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    recording = whole_run(num_launches=3, num_rounds=4, axes={"features": (8, 16)})
    return keep(recording, tmp_path_factory.mktemp("report") / "runs.db")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


def test_the_report_is_written_and_its_path_printed(store: str, tmp_path: Path) -> None:
    file = tmp_path / "out.html"
    done = invoke("report", "--store", store, "--html", str(file))
    assert done.exit_code == 0
    assert done.output == f"{file.resolve()}\n"
    text = file.read_text()
    assert text.startswith("<!doctype html>")
    assert "mylayer: dense, twin, quick, slow" in text


def test_without_a_name_it_is_named_after_the_run(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke("report", "latest", "--store", store)
    assert done.output.strip() == str(tmp_path.resolve() / "stepmark-20270115-080000-synth.html")
    assert Path(done.output.strip()).exists()


def test_another_margin_gives_other_verdicts(store: str, tmp_path: Path) -> None:
    file = tmp_path / "out.html"
    invoke("report", "--store", store, "--html", str(file), "--margin", "90%")
    assert "within 90" in file.read_text()


def test_it_opens_the_browser_when_asked(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("click.launch", opened.append)
    invoke("report", "--store", store, "--html", str(tmp_path / "out.html"), "--open")
    assert opened == [(tmp_path / "out.html").resolve().as_uri()]


@pytest.mark.parametrize(
    ("name", "problem"), [("", "is a folder"), ("nowhere/out.html", "there is no folder")]
)
def test_a_place_that_cannot_be_is_refused(store: str, tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        invoke("report", "--store", store, "--html", str(tmp_path / name))


def test_a_place_that_may_not_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(UsageError, match=r"out\.html cannot be written: Permission denied"):
        checked_html(str(tmp_path / "out.html"))
    (tmp_path / "ours.html").write_text("")
    assert checked_html(str(tmp_path / "ours.html")) == tmp_path / "ours.html"


@pytest.mark.process
@pytest.mark.beside
def test_run_writes_the_report_beside_what_it_prints(benches: Path, tmp_path: Path) -> None:
    # The script that draws figures is made once for a user, and here taken from the one who runs the tests.
    stepmark = CommandLine(home=tmp_path, extra={"XDG_CACHE_HOME": str(user_cache_path())})
    bench = str(benches / "bench_plain.py")
    less = ("--mode", "forward", "--set", "features=16", "--quiet")
    done = stepmark.knows_ceilings()("run", bench, *QUICK, *less, "--html", "out.html", "--format", "csv")
    assert (tmp_path / "out.html").read_text().startswith("<!doctype html>"), done.stderr
    assert f"report: {(tmp_path / 'out.html').resolve()}" in done.stderr
    assert "report:" not in done.stdout
    assert stepmark("run", "demo", "--html", "nowhere/out.html").returncode == 2
