"""Comparing through the store: references, names, the history it holds; and from a program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from stepmark.comparing import compare, compare_stored
from stepmark.errors import StoreError, UsageError
from stepmark.records.comparison import Aspect
from stepmark.records.inspection import NumberCheck
from stepmark.records.run import FORMAT, Recording, Run
from stepmark.records.verdict import Reason, VerdictKind
from stepmark.result import Result
from stepmark.store.store import Store
from tests.support.recordings import Noise, make_recording

STILL = Noise(process=0.002, instance=0.001, round=0.002)


def recorded(
    number: int, *, factor: float = 1.0, suite: str = "synthetic", stepmark: str = "0.1.0"
) -> Recording:
    """A run of a built-in suite: the version of stepmark is the version of its code."""
    recording = make_recording(
        variants={"dense": factor, "mine": 2.0 * factor}, seed=number, noise=STILL, suite=suite
    )
    run = recording.run
    environment = replace(run.environment, stepmark=stepmark)
    id = f"202701{number:02}-080000-aaaa"
    return replace(recording, run=replace(run, id=id, started=run.started + number, environment=environment))


def keep(store: Store, recording: Recording) -> None:
    store.begin(recording.run)
    for trial in recording.trials:
        store.append(recording.run.id, trial)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def store(place: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{place}") as opened:
        keep(opened, recorded(1))
        keep(opened, recorded(2, factor=1.03, stepmark="0.2.0"))
        yield opened


def test_by_reference_and_by_name(store: Store) -> None:
    store.save_baseline("main", recorded(1).run.id, saved=0.0)
    comparison = compare_stored(store, "main", "latest")
    assert (comparison.baseline.name, comparison.baseline.id) == ("main", recorded(1).run.id)
    assert (comparison.candidate.name, comparison.candidate.id) == (None, recorded(2).run.id)
    assert compare_stored(store, "latest~1", "20270102").baseline.name is None


def test_a_run_just_measured_against_a_stored_one(store: Store) -> None:
    assert compare_stored(store, "latest~1", recorded(2)).candidate.id == recorded(2).run.id


def test_an_error_of_the_audit_is_not_forgotten_between_runs(store: Store) -> None:
    wrong = NumberCheck(what="output", error=1.0, tolerance=0.01)
    right = recorded(2, factor=1.03, stepmark="0.2.0")
    guilty = replace(
        right,
        solos=tuple(
            replace(solo, evidence=replace(solo.evidence, numbers=(wrong,)))
            if solo.case.variant == "mine" and solo.evidence
            else solo
            for solo in right.solos
        ),
    )
    comparison = compare_stored(store, recorded(1).run.id, guilty)
    kinds = {case.case.variant: case.primary.kind for case in comparison.cases}
    assert kinds["mine"] is VerdictKind.INVALID
    assert kinds["dense"] is not VerdictKind.INVALID
    mine = next(case.primary for case in comparison.cases if case.case.variant == "mine")
    assert mine.reasons[0] is Reason.AUDIT
    assert Reason.UNPAIRED in mine.reasons
    assert mine.ratio is not None
    swapped = compare_stored(store, guilty, recorded(1).run.id)
    mine = next(case.primary for case in swapped.cases if case.case.variant == "mine")
    assert (mine.kind, mine.reasons[0]) == (VerdictKind.INVALID, Reason.BASELINE_AUDIT)


def test_a_run_with_itself(store: Store) -> None:
    with pytest.raises(UsageError, match="compared with itself"):
        compare_stored(store, "latest", "20270102")


def test_the_store_knows_the_spread_when_it_has_seen_enough(store: Store) -> None:
    before = compare_stored(store, "20270101", "20270102").cases[0].primary
    assert before.kind is VerdictKind.INCONCLUSIVE
    for number in (3, 4, 5):
        keep(store, recorded(number))
    keep(store, recorded(6, suite="another"))
    after = compare_stored(store, "20270101", "20270102").cases[0].primary
    assert after.spread is not None
    assert after.spread.num_runs == 4
    assert after.kind is VerdictKind.SLOWER


def test_a_run_of_a_newer_stepmark_tells_nothing_and_stops_nobody(store: Store) -> None:
    newer = recorded(3).run
    before = compare_stored(store, recorded(1).run.id, recorded(2).run.id)
    store.begin(replace(newer, format=FORMAT + 1))
    assert newer.id in [head.id for head in store.heads(None)]
    assert newer.id not in [head.id for head in store.heads(None, readable=True)]
    assert compare_stored(store, recorded(1).run.id, recorded(2).run.id) == before


def test_nor_does_a_damaged_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = recorded(1).run.id, recorded(2).run.id
    before = compare_stored(store, *sides)
    keep(store, recorded(3))
    with store._writing() as connection:
        damaged = {"id": recorded(3).run.id}
        connection.execute(text("UPDATE run_records SET record = '{}' WHERE run_id = :id"), damaged)
    assert compare_stored(store, *sides) == before
    with pytest.raises(StoreError, match="cannot be read"):
        compare_stored(store, sides[0], recorded(3).run.id)

    def locked(_: Store, run_id: str) -> Run:
        raise StoreError(f"locked: {run_id}", remedy="")

    monkeypatch.setattr(Store, "run", locked)
    with pytest.raises(StoreError, match="locked"):
        compare_stored(store, *sides)


def test_from_a_program(store: Store, place: Path) -> None:
    results = Result(recorded(1)), Result(recorded(2, factor=1.5))
    alone = compare(*results)
    assert [case.primary.kind for case in alone.cases] == [VerdictKind.SLOWER] * 2
    assert "unpaired" in alone.render()
    assert alone.render("json").startswith("{")
    stored = compare("latest~1", "latest", store=str(place), margin="20%", centre="median")
    assert stored.comparison.terms.policy.margin == 0.2
    mixed = compare(results[0], "latest", store=str(place))
    assert "2 cases" in repr(mixed)
    with pytest.raises(UsageError, match="'mean' is no centre"):
        compare(*results, centre="mean")


PAGE = (Path(__file__).parents[1] / "docs" / "compare.md").read_text()


def test_the_page_names_every_aspect_and_its_example_runs(
    store: Store, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert all(f"`{aspect}`" in PAGE for aspect in Aspect)
    store.save_baseline("main", recorded(1).run.id, saved=0.0)
    monkeypatch.setenv("STEPMARK_STORE", str(place))
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(block, {})
    assert "synthetic/mine[features=512]/cpu/float32/train INCONCLUSIVE" in capsys.readouterr().out
