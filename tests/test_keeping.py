"""Summaries of stored runs are made where they are missing; histories and machines are read from them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from stepmark import keeping
from stepmark.analysis import run_summary
from stepmark.analysis.run_summary import VERSION, summarize_run
from stepmark.errors import StoreError, UsageError
from stepmark.keeping import case_history, machines, refresh, refresh_all, take_in
from stepmark.pipeline import judged
from stepmark.records.run import Judgement, Recording, RunStatus
from stepmark.records.run_summary import RunSummary
from stepmark.store.store import Store
from tests.store.dated_runs import dated, keep_summarized
from tests.support.recordings import make_recording

DENSE = "synthetic/dense[features=512]/cpu/float32/train"


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open("sqlite://") as opened:
        yield opened


def test_missing_summaries_are_made_some_at_a_time(store: Store) -> None:
    for number in range(1, 6):
        store.add_recording(dated(number))
    assert refresh(store, limit=2) == 2
    assert [head.verdicts is None for head in store.search().heads] == [False, False, True, True, True]
    assert refresh_all(store, batch=2) == 3
    assert refresh(store, limit=2) == 0
    assert len(store.case_points(DENSE)) == 5


def test_older_summaries_are_made_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_summarized(store, dated(1))
    assert refresh(store, limit=5) == 0
    for module in (keeping, run_summary):
        monkeypatch.setattr(module, "VERSION", VERSION + 1)
    assert refresh(store, limit=5) == 1
    assert refresh(store, limit=5) == 0


def test_a_run_whose_trials_are_damaged_is_in_nobodys_way(store: Store) -> None:
    for number in (1, 2):
        store.add_recording(dated(number))
    damaged = dated(2).run.id
    with store._engine.begin() as connection:
        connection.execute(text("UPDATE launches SET record = '{}' WHERE run_id = :id"), {"id": damaged})
    assert refresh_all(store) == 2
    assert [point.run for point in store.case_points(DENSE)] == [dated(1).run.id]
    assert store.head(damaged).verdicts == ()


def test_a_run_whose_head_is_damaged_is_in_nobodys_way_either(store: Store) -> None:
    store.add_recording(dated(1))
    with store._engine.begin() as connection:
        connection.execute(text("UPDATE run_records SET record = '{}'"))
    assert refresh_all(store) == 1
    assert store.head(dated(1).run.id).verdicts == ()


def test_a_run_that_cannot_be_judged_is_named_and_in_nobodys_way(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Older runs come after newer ones: each of them would wait for ever."""
    for number in (1, 2, 3):
        store.add_recording(dated(number))
    bad = dated(2).run.id

    def stumble(recording: Recording) -> Judgement:
        if recording.run.id == bad:
            raise ZeroDivisionError("division by zero")
        return judged(recording)

    monkeypatch.setattr(keeping, "judged", stumble)
    assert refresh_all(store, batch=2) == 3
    assert [head.verdicts for head in store.heads(None) if head.id == bad] == [()]
    assert len(store.case_points(DENSE)) == 2
    assert f"run {bad} is listed without verdicts: ZeroDivisionError: division by zero" in caplog.text


def test_what_comes_out_as_no_number_is_not_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store.add_recording(dated(1))

    def without_spread(judgement: Judgement) -> RunSummary:
        summary = summarize_run(judgement)
        return replace(summary, cases=tuple(replace(case, error=math.nan) for case in summary.cases))

    monkeypatch.setattr(keeping, "summarize_run", without_spread)
    assert refresh_all(store) == 1
    assert "is not a number" in caplog.text
    assert store.case_points(DENSE) == ()


@pytest.mark.parametrize("passing", [StoreError("runs.db is locked by another process"), MemoryError()])
def test_what_may_pass_is_no_reason_to_give_a_run_up(
    store: Store, monkeypatch: pytest.MonkeyPatch, passing: Exception
) -> None:
    store.add_recording(dated(1))

    def refuse(_: Recording) -> Judgement:
        raise passing

    with monkeypatch.context() as busy:
        busy.setattr(keeping, "judged", refuse)
        with pytest.raises(type(passing)):
            refresh(store, limit=5)
    assert refresh(store, limit=5) == 1
    assert len(store.case_points(DENSE)) == 1


def test_a_run_that_cannot_be_shown_is_refused(store: Store) -> None:
    shown: list[str] = []

    def show(recording: Recording, judgement: Judgement) -> None:
        shown.append(judgement.run.id)
        if recording.run.id == dated(2).run.id:
            raise OverflowError("year out of range")

    assert take_in(store, dated(1), show=show)
    with pytest.raises(StoreError, match="cannot be shown: OverflowError: year out of range"):
        take_in(store, dated(2), show=show)
    assert shown == [dated(1).run.id, dated(2).run.id]
    assert store.search().total == 1


def test_a_run_from_elsewhere_is_taken_in_with_its_summary(store: Store) -> None:
    assert take_in(store, dated(1))
    assert len(store.case_points(DENSE)) == 1
    assert not take_in(store, dated(1))
    running = dated(2, status=RunStatus.RUNNING)
    assert take_in(store, running)
    assert len(store.case_points(DENSE)) == 1


def test_a_run_that_cannot_be_judged_is_refused(store: Store) -> None:
    recording = dated(1)
    headless = replace(recording, run=replace(recording.run, suites=()))
    with pytest.raises(StoreError, match="cannot be judged"):
        take_in(store, headless)
    assert store.search().total == 0


def test_a_run_that_goes_on_is_left_alone(store: Store) -> None:
    store.begin(replace(dated(1).run, status=RunStatus.RUNNING))
    assert refresh(store, limit=5) == 0


def test_a_history_is_cut_where_the_level_changed(store: Store) -> None:
    for number in range(24):
        keep_summarized(store, dated(number, factor=1.0 if number < 12 else 1.4))
    history = case_history(store, DENSE)
    assert (history.case, history.phase, len(history.points)) == (DENSE, "step", 24)
    (change,) = history.changes
    assert change.run == dated(12).run.id
    assert change.change.low < 1.4 < change.change.high
    (only,) = history.series
    assert dict(only.facts)["host"] == "bench"


def test_the_example_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[1] / "docs" / "history.md").read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    monkeypatch.setenv("STEPMARK_STORE", str(tmp_path / "runs.db"))
    with Store.open(f"sqlite:///{tmp_path}/runs.db") as store:
        for number in range(20):
            factor = 1.0 if number < 10 else 1.5
            axes = {"features": (512,), "tokens": (64,)}
            recording = make_recording(
                suite="mylayer",
                variants={"dense": factor, "mine": 1.0},
                axes=axes,
                num_launches=3,
                seed=number,
            )
            run = replace(recording.run, id=f"run-{number:02}", started=float(number))
            store.add_recording(replace(recording, run=run))
    exec(program, {})
    assert capsys.readouterr().out.startswith("run-09 to run-10")


def test_machines_are_series_of_their_own(store: Store) -> None:
    for number in range(4):
        keep_summarized(store, dated(number, machine=("a", "b")[number % 2]))
    history = case_history(store, DENSE)
    assert [(each.machine, each.num_points, each.differs) for each in history.series] == [
        ("b", 2, ("host",)),
        ("a", 2, ("host",)),
    ]
    assert len(case_history(store, DENSE, machine="a").points) == 2


def test_another_phase_by_name(store: Store) -> None:
    keep_summarized(store, dated(1))
    assert case_history(store, DENSE, phase="forward").phase == "forward"
    with pytest.raises(UsageError, match="no phase 'sideways'") as caught:
        case_history(store, DENSE, phase="sideways")
    assert "forward" in caught.value.remedy


def test_a_case_that_nobody_measured(store: Store) -> None:
    with pytest.raises(UsageError, match="no finished run") as caught:
        case_history(store, DENSE)
    assert "once a run" in caught.value.remedy
    keep_summarized(store, dated(1))
    with pytest.raises(UsageError) as caught:
        case_history(store, "synthetic/dense[features=513]/cpu")
    assert DENSE in caught.value.remedy
    with pytest.raises(UsageError):
        case_history(store, "")


def test_machines_have_a_noise_where_runs_repeat_each_other(store: Store) -> None:
    for number in range(6):
        recording = dated(number, machine="a" if number < 5 else "b")
        clean = replace(recording.run.environment, repository=None)
        keep_summarized(store, replace(recording, run=replace(recording.run, environment=clean)))
    alone, known = machines(store)
    assert (alone.machine.name, alone.spread) == ("b", None)
    assert (known.machine.name, known.machine.num_runs) == ("a", 5)
    assert known.spread is not None
    assert known.spread.num_runs == 5
