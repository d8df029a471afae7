"""Points of histories: what a summary says is what a history reads."""

from __future__ import annotations

import math

import pytest

from stepmark.analysis.run_summary import conditions_of, summarize_run
from stepmark.pipeline import judged
from stepmark.store.store import Store
from tests.store.dated_runs import dated, keep_summarized

DENSE = "synthetic/dense[features=512]/cpu/float32/train"
MINE = "synthetic/mine[features=512]/cpu/float32/train"
RECORDINGS = [dated(3), dated(1), dated(2, machine="gpu-1", threads=4)]


@pytest.fixture
def store(empty_store: Store) -> Store:
    for recording in RECORDINGS:
        keep_summarized(empty_store, recording)
    return empty_store


@pytest.mark.parametrize("phase", ["step", "forward", "backward"])
def test_points_are_what_was_summarized(store: Store, phase: str) -> None:
    points = store.case_points(MINE, phase)
    assert [point.run for point in points] == sorted(recording.run.id for recording in RECORDINGS)
    for recording in RECORDINGS:
        run = recording.run
        (point,) = (point for point in points if point.run == run.id)
        (case,) = (
            case
            for case in summarize_run(judged(recording)).cases
            if (case.case, case.phase) == (MINE, phase)
        )
        assert (point.level, point.ratio, point.verdict) == (case.level, case.ratio, case.verdict)
        repository = run.environment.repository
        assert repository is not None
        assert (point.commit, point.dirty, point.branch) == (
            repository.commit,
            repository.dirty,
            repository.branch,
        )
        assert (point.started, point.machine) == (run.started, run.environment.host.hostname)
        assert point.conditions == conditions_of(run).key


def test_the_baseline_has_no_ratio(store: Store) -> None:
    assert {(point.ratio, point.verdict) for point in store.case_points(DENSE)} == {(None, None)}


def test_without_a_phase_the_primary_one_is_meant(store: Store) -> None:
    phases = store.case_phases(MINE)
    assert phases[0] == "step"
    assert set(phases) > {"step", "forward", "backward"}
    assert store.case_points(MINE) == store.case_points(MINE, "step")


def test_points_of_one_machine(store: Store) -> None:
    assert [point.run for point in store.case_points(MINE, machine="gpu-1")] == [RECORDINGS[2].run.id]
    assert store.case_points(MINE, machine="nowhere") == ()


def test_a_case_that_nobody_measured_has_no_points(store: Store) -> None:
    assert store.case_points("nothing") == store.case_points(MINE, "nothing") == ()
    assert store.case_phases("nothing") == ()


def test_cases_are_found_by_their_words(store: Store) -> None:
    assert store.case_ids() == (DENSE, MINE)
    assert store.case_ids("MINE cpu") == (MINE,)
    assert store.case_ids("mine dense") == ()
    assert store.case_ids("%") == ()
    assert store.case_ids(limit=1) == (DENSE,)


def test_conditions_are_told_by_name(store: Store) -> None:
    keys = {point.conditions for point in store.case_points(MINE)}
    assert len(keys) == 2
    facts = [dict(facts) for facts in store.conditions(keys).values()]
    assert {fact["threads"] for fact in facts} == {"1", "4"}
    assert store.conditions([]) == {}


def test_levels_of_a_machine_are_of_known_code(store: Store) -> None:
    levels = store.machine_levels("bench", num_runs=10)
    assert {level.run for level in levels} == {RECORDINGS[0].run.id, RECORDINGS[1].run.id}
    assert {level.case for level in levels} == {DENSE, MINE}
    (point,) = (each for each in store.case_points(DENSE) if each.run == RECORDINGS[0].run.id)
    (level,) = (each for each in levels if (each.case, each.run) == (DENSE, point.run))
    assert level.level == pytest.approx(math.log(point.level.point))
    assert level.error > 0.0
    assert {level.run for level in store.machine_levels("bench", num_runs=1)} == {RECORDINGS[0].run.id}
