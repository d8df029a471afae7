"""The schedule: each cell's solos and first launch, launches round the cells, and exactly on after a stop."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.measure.assignment import Assignment, SoloAssignment
from stepmark.measure.schedule import LEAST_LAUNCHES, Schedule
from stepmark.records.run import Run
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource, FileSource
from stepmark.records.trial import LaunchTrial, Role, Trial
from tests.measure.scheduling import Fate, carry_out, fates, fine, launches, quick, run_of, sizes
from tests.support.recordings import make_run
from tests.support.trials import make_failure, make_solo


def num_alone(run: Run) -> int:
    """Launches without company where nothing fails: of every case that has company otherwise, in a run with
    launches enough for a spread."""
    variants = len(run.suites[0].variants)
    return run.settings.alone * len(run.cases) if variants > 1 and run.settings.launches > 1 else 0


@quick
@given(sizes, fates())
def test_every_case_passes_alone_once_and_a_cell_before_its_first_launch(run: Run, fate: Fate) -> None:
    assigned, _ = carry_out(run, fate)
    solos = [one.case for one in assigned if isinstance(one, SoloAssignment)]
    assert sorted(case.id for case in solos) == sorted(case.id for case in run.cases)
    waiting = {cell: {c.id for c in run.cases if c.cell == cell} for cell in {c.cell for c in run.cases}}
    for one in assigned:
        if isinstance(one, SoloAssignment):
            waiting[one.case.cell].remove(one.case.id)
        else:
            assert not waiting[one.cell]


@quick
@given(sizes)
def test_a_cell_that_was_entered_is_launched_before_another_is_entered(run: Run) -> None:
    entered: list[str] = []
    for one in carry_out(run)[0]:
        if isinstance(one, SoloAssignment):
            if one.case.cell.id not in entered:
                entered.append(one.case.cell.id)
            assert entered[-1] == one.case.cell.id
        elif len(entered) < len({case.cell for case in run.cases}):
            assert one.cell.id == entered[-1], "cells with fewer launches come first"


@quick
@given(sizes)
def test_where_nothing_fails_the_total_never_changes(run: Run) -> None:
    schedule = Schedule(run)
    cells = {case.cell for case in run.cases}
    total = len(run.cases) + run.settings.launches * len(cells) + num_alone(run)
    for done in range(total):
        assert schedule.progress == (done, total)
        assignment = schedule.next(0.0)
        assert assignment is not None
        schedule.note(fine(assignment))
    assert schedule.progress == (total, total)


@quick
@given(sizes)
def test_launches_go_round_the_cells(run: Run) -> None:
    assigned, _ = carry_out(run)
    done = Counter({case.cell: 0 for case in run.cases})
    for launch in launches(assigned, Role.MEASURE):
        done[launch.cell] += 1
        assert max(done.values()) - min(done.values()) <= 1
        assert [case.variant for case in launch.cases] == [
            c.variant for c in run.cases if c.cell == launch.cell
        ]
    assert set(done.values()) == {run.settings.launches}


@quick
@given(sizes)
def test_launches_of_a_cell_are_numbered_whatever_they_are_for(run: Run) -> None:
    numbers: dict[str, list[int]] = {}
    for launch in launches(carry_out(run)[0]):
        numbers.setdefault(launch.cell.id, []).append(launch.number)
    assert all(given == list(range(len(given))) for given in numbers.values())


def test_the_cells_take_turns_in_random_order() -> None:
    assigned, _ = carry_out(run_of(cells=4, launches=6))
    cells = [launch.cell.point for launch in launches(assigned, Role.MEASURE)]
    laps = [tuple(cells[i : i + 4]) for i in range(0, 24, 4)]
    assert all(len(set(lap)) == 4 for lap in laps)
    assert len(set(laps)) > 3
    firsts = Counter(
        launches(carry_out(run_of(cells=3, launches=1, seed=seed))[0])[0].cell.point for seed in range(90)
    )
    assert all(firsts[point] > 15 for point in ("features=0", "features=1", "features=2"))


def test_everything_random_follows_from_the_seed() -> None:
    one, same = (carry_out(run_of(cells=4, launches=5, seed=3))[0] for _ in range(2))
    other, _ = carry_out(run_of(cells=4, launches=5, seed=4))
    assert one == same
    assert [a.cell for a in launches(one)] != [a.cell for a in launches(other)]
    seeds = [assignment.seed for assignment in launches(one)]
    assert len(set(seeds)) == len(seeds), "every launch draws anew"
    assert len({a.seed for a in one if isinstance(a, SoloAssignment)}) == 4, (
        "variants of a cell share parameters"
    )


@quick
@given(sizes, fates())
def test_what_failed_is_never_run_again(run: Run, fate: Fate) -> None:
    assigned, trials = carry_out(run, fate)
    gone: set[tuple[str, str]] = set()
    for assignment, trial in zip(assigned, trials, strict=True):
        if isinstance(assignment, SoloAssignment):
            if trial == make_solo(assignment.case, failure=make_failure()):
                gone.add((assignment.case.cell.id, assignment.case.variant))
            continue
        assert assignment.cases
        assert not {(assignment.cell.id, case.variant) for case in assignment.cases} & gone
        assert isinstance(trial, LaunchTrial)
        gone |= {(trial.cell.id, lane.variant) for lane in trial.lanes if lane.failure}


@quick
@given(sizes, fates())
def test_launches_cut_short_do_not_count_but_keep_their_number(run: Run, fate: Fate) -> None:
    assigned, trials = carry_out(run, fate)
    whole = Counter(
        t.cell.id for t in trials if isinstance(t, LaunchTrial) and t.role is Role.MEASURE and not t.cut_short
    )
    numbers: dict[str, list[int]] = {}
    for launch in launches(assigned):
        numbers.setdefault(launch.cell.id, []).append(launch.number)
    assert all(given == list(range(len(given))) for given in numbers.values())
    lost = {
        (t.cell.id, lane.variant)
        for t in trials
        if isinstance(t, LaunchTrial)
        for lane in t.lanes
        if lane.failure
    }
    failed_alone = {
        (t.case.cell.id, t.case.variant) for t in trials if not isinstance(t, LaunchTrial) and t.failure
    }
    for cell in {case.cell for case in run.cases}:
        variants = {(cell.id, case.variant) for case in run.cases if case.cell == cell}
        if variants - lost - failed_alone:
            assert whole[cell.id] == run.settings.launches


def test_a_launch_cut_short_is_made_up_for() -> None:
    cut = iter([True, False, True])

    def fate(assignment: Assignment) -> Trial:
        trial = fine(assignment)
        return replace(trial, cut_short=next(cut, False)) if isinstance(trial, LaunchTrial) else trial

    assigned, _ = carry_out(run_of(cells=1, launches=3), fate)
    assert [launch.number for launch in launches(assigned, Role.MEASURE)] == [0, 1, 2, 3, 4]
    assert [launch.number for launch in launches(assigned, Role.ALONE)] == [5, 6]


@quick
@given(sizes, fates(), st.data())
def test_a_resumed_run_goes_on_exactly_where_it_stopped(run: Run, fate: Fate, data: st.DataObject) -> None:
    assigned, trials = carry_out(run, fate)
    stop = data.draw(st.integers(0, len(trials)))
    resumed = Schedule(run, trials[:stop])
    expected = assigned[stop] if stop < len(assigned) else None
    assert resumed.next(0.0) == expected
    replayed = iter(trials[stop:])
    again, _ = carry_out(run, lambda _: next(replayed), past=trials[:stop])
    assert again == assigned[stop:]


@quick
@given(st.randoms(use_true_random=False), st.integers(0, 24))
def test_no_launch_number_is_given_twice_in_whatever_order_the_past_is_told(
    random: Random, kept: int
) -> None:
    run = run_of(cells=2, launches=8)
    _, trials = carry_out(run)
    past = trials[:kept]
    random.shuffle(past)
    known = {(trial.cell.id, trial.number) for trial in past if isinstance(trial, LaunchTrial)}
    new = {(one.cell.id, one.number) for one in launches(carry_out(run, past=past)[0])}
    assert not known & new
    assert len(known | new) == 2 * 8 + num_alone(run)


def test_a_run_whose_every_case_failed_alone_is_over() -> None:
    def fate(assignment: Assignment) -> Trial:
        assert isinstance(assignment, SoloAssignment)
        return make_solo(assignment.case, failure=make_failure())

    assigned, _ = carry_out(run_of(cells=3, variants="abc"), fate)
    assert len(assigned) == 9


def test_a_cell_that_lost_everybody_in_its_first_launch_is_over() -> None:
    def fate(assignment: Assignment) -> Trial:
        trial = fine(assignment)
        if isinstance(trial, LaunchTrial) and trial.cell.point == "features=0":
            lanes = tuple(replace(lane, failure=make_failure()) for lane in trial.lanes)
            return replace(trial, lanes=lanes, cut_short=True)
        return trial

    assigned, _ = carry_out(run_of(cells=2, launches=3), fate)
    measured = Counter(launch.cell.point for launch in launches(assigned, Role.MEASURE))
    assert measured == {"features=0": 1, "features=1": 3}
    assert {launch.cell.point for launch in launches(assigned, Role.ALONE)} == {"features=1"}


def under_a_clock(run: Run, *, solo: float = 0.0, launch: float = 1.0) -> list[Assignment]:
    """What is assigned where a solo pass and a launch take so many seconds."""
    schedule, assigned, elapsed = Schedule(run), list[Assignment](), 0.0
    while (assignment := schedule.next(elapsed)) is not None:
        assert len(assigned) < 2000, "it must end"
        assigned.append(assignment)
        schedule.note(fine(assignment))
        elapsed += solo if isinstance(assignment, SoloAssignment) else launch
    return assigned


@quick
@given(
    st.integers(2, 6),
    st.floats(0.1, 100.0),
    st.floats(0.0, 5.0),
    st.floats(0.1, 5.0),
)
def test_a_sweep_overruns_its_budget_by_the_cell_in_hand_at_most(
    cells: int, budget: float, solo: float, launch: float
) -> None:
    run = run_of(cells=cells, launches=3, budget=budget, confirm=0, alone=0)
    assigned = under_a_clock(run, solo=solo, launch=launch)
    spent = sum(solo if isinstance(one, SoloAssignment) else launch for one in assigned)
    assert spent <= budget + 2 * solo + launch + 1e-6
    entered = {one.case.cell.id for one in assigned if isinstance(one, SoloAssignment)}
    assert entered == {one.cell.id for one in launches(assigned)}, "nobody is looked at for nothing"


def test_a_sweep_without_time_for_all_has_whole_cells_from_everywhere() -> None:
    reached: set[str] = set()
    for seed in range(30):
        assigned = under_a_clock(run_of(cells=8, launches=3, budget=6.0, confirm=0, seed=seed), solo=1.0)
        now = {launch.cell.point for launch in launches(assigned)}
        assert len(now) == 2, "of three seconds each"
        reached |= now
    assert len(reached) == 8


@pytest.mark.parametrize("budget", [1e-3, 10.0])
def test_a_run_of_one_cell_has_the_launches_that_an_answer_needs(budget: float) -> None:
    assigned = under_a_clock(run_of(cells=1, launches=9, budget=budget), solo=1000.0)
    assert [isinstance(one, SoloAssignment) for one in assigned] == [True] * 2 + [False] * LEAST_LAUNCHES


@pytest.mark.parametrize("cells", [1, 3])
def test_no_time_at_all_means_solo_passes_and_no_launches(cells: int) -> None:
    assigned = under_a_clock(run_of(cells=cells, launches=9, budget=0.0), solo=1.0)
    assert len(assigned) == 2 * cells
    assert not launches(assigned)


@quick
@given(st.floats(0.5, 50.0), st.floats(0.1, 30.0), st.integers(1, 20))
def test_a_cell_ends_with_its_own_budget_but_not_without_an_answer(
    budget: float, seconds: float, most: int
) -> None:
    def fate(assignment: Assignment) -> Trial:
        trial = fine(assignment)
        return replace(trial, seconds=seconds) if isinstance(trial, LaunchTrial) else trial

    run = run_of(cells=2, launches=most, cell_budget=budget, confirm=0, alone=0)
    done = Counter(launch.cell.id for launch in launches(carry_out(run, fate)[0]))
    for num in done.values():
        assert num >= min(most, LEAST_LAUNCHES)
        assert num <= most
        assert num <= LEAST_LAUNCHES or (num - 1) * seconds < budget
        assert num == most or num * seconds >= budget * (1 - 1e-9)


def test_without_a_budget_there_is_no_hurry() -> None:
    assert Schedule(run_of(cells=1)).next(1e9) is not None


def test_progress_counts_what_is_left() -> None:
    run = run_of(cells=2, variants="ab", launches=3)
    schedule = Schedule(run)
    assert schedule.progress == (0, 4 + 6 + 4)
    schedule.note(make_solo(run.cases[0], failure=make_failure()))
    assert schedule.progress == (1, 4 + 6 + 2), "who is left without company is not launched alone"
    schedule.note(make_solo(run.cases[1], failure=make_failure()))
    assert schedule.progress == (2, 4 + 3 + 2), "the launches of a cell without variants are not to come"


def test_every_assignment_knows_its_suites_source() -> None:
    first, second = make_run(suite="one"), make_run(suite="two")
    sources = (BuiltinSource(name="one"), FileSource(path="/bench_two.py"))
    run = replace(
        first,
        sources=sources,
        suites=(first.suites[0], replace(second.suites[0], source_index=1)),
        cases=(*first.cases, *second.cases),
        settings=Settings(launches=1),
    )
    assigned, _ = carry_out(run)
    for one in assigned:
        suite = one.case.cell.suite if isinstance(one, SoloAssignment) else one.cell.suite
        assert one.source == sources[["one", "two"].index(suite)]
        assert one.settings == run.settings


def test_one_variant_alone_is_still_launched() -> None:
    assigned, _ = carry_out(run_of(cells=1, variants="a", launches=2))
    assert len(launches(assigned)) == 2
