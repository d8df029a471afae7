"""A result: verdicts, files by their ending, a store, a data frame."""

from __future__ import annotations

import json
from errno import ENOSPC
from pathlib import Path

import pytest
from sqlalchemy import Connection

from stepmark.errors import StoreError, UsageError
from stepmark.records.settings import Policy
from stepmark.records.trial import Trial
from stepmark.records.verdict import VerdictKind
from stepmark.result import Result
from stepmark.store.store import Store
from stepmark.store.writing import insert_trial
from tests.support.recordings import make_recording


@pytest.fixture(scope="module")
def result() -> Result:
    return Result(make_recording(axes={"features": (512, 1024)}, num_launches=5))


def test_verdicts_and_cases(result: Result) -> None:
    assert len(result.cases) == 4
    assert [verdict.case for verdict in result.verdicts] == [
        case.case.id for case in result.cases if not case.baseline
    ]
    assert {summary.phase for summary in result.summaries} >= {"step", "forward", "backward"}
    assert result.id in repr(result)


def test_another_policy_another_verdict(result: Result) -> None:
    lenient = Result(result.recording, Policy(margin=0.9))
    assert {verdict.kind for verdict in lenient.verdicts} == {VerdictKind.EQUIVALENT}


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".csv", ".md", ".txt"])
def test_save_by_ending(result: Result, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"result{ending}"
    result.save(path)
    assert path.read_text()
    if ending == ".json":
        assert json.loads(path.read_text())["run"]["id"] == result.id


def test_save_into_a_store(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "kept.db")
    with Store.open(f"sqlite:///{tmp_path / 'kept.db'}") as store:
        assert store.load(result.id) == result.recording


def test_what_stops_a_copy_leaves_no_part_of_it(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a run that says it is complete would be judged as if it were whole."""
    taken: list[Trial] = []

    def fills_up(connection: Connection, run_id: str, trial: Trial) -> None:
        if len(taken) == 3:
            raise OSError(ENOSPC, "no space left")
        taken.append(trial)
        insert_trial(connection, run_id, trial)

    monkeypatch.setattr("stepmark.store.store.insert_trial", fills_up)
    with pytest.raises(StoreError):
        result.save(tmp_path / "kept.db")
    assert len(taken) == 3
    monkeypatch.undo()
    with Store.open(f"sqlite:///{tmp_path / 'kept.db'}") as store:
        assert store.heads(None) == ()
    for _ in range(2):
        result.save(tmp_path / "kept.db")
    with Store.open(f"sqlite:///{tmp_path / 'kept.db'}") as store:
        assert store.load(result.id) == result.recording


def test_an_unknown_ending(result: Result, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="an ending stepmark does not write"):
        result.save(tmp_path / "result.xlsx")


def test_a_place_that_cannot_be_written(result: Result, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot write .*result\.json: No such file or directory") as caught:
        result.save(tmp_path / "nowhere" / "result.json")
    assert caught.value.remedy


def test_to_frame(result: Result) -> None:
    pytest.importorskip("pandas")
    frame = result.to_frame()
    assert set(frame["variant"]) == {"dense", "mine"}
    assert set(frame["features"]) == {512, 1024}
    assert (frame["median_seconds"] > 0).any()


def test_to_frame_without_pandas(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="needs pandas"):
        result.to_frame()
