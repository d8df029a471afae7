"""The schedule and its referee: early ends, launches alone, separate processes, and measuring again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.referee import RunReferee
from stepmark.measure.assignment import Assignment, LaunchAssignment, SoloAssignment
from stepmark.measure.schedule import RESERVE, Schedule
from stepmark.records.run import Run
from stepmark.records.settings import Isolation, Settings
from stepmark.records.trial import LaunchTrial, Role, Trial
from stepmark.stats.sequential import looks
from tests.measure.scheduling import Fate, carry_out, fates, fine, launches, quick, run_of, sizes
from tests.support.played_runs import Machine
from tests.support.recordings import Noise
from tests.support.trials import make_failure

ENOUGH_ALONE = Settings().enough_alone


@dataclass
class ScriptedReferee:
    """Answers by script, from the launches it has seen."""

    decided_from: Mapping[str, int] = field(default_factory=dict)
    """By the cell's point: launches from which it is decided, in whatever isolation."""
    suspects: Collection[str] = ()
    """Variants in doubt once they have run alone."""
    crowded_from: int | None = None
    """Launches alone of a suspect from which company is known to change its level."""
    to_confirm: Mapping[str, int] = field(default_factory=dict)
    """Flagged cells by point, with the launches they need."""
    seconds: float | None = None
    """After a cell's first launch."""
    seen: list[LaunchTrial] = field(default_factory=list)
    asked: list[tuple[str, int]] = field(default_factory=list)
    """Cells whose decision was asked for, with the launches that counted then."""

    def note(self, trial: LaunchTrial) -> None:
        self.seen.append(trial)

    def _of(self, cell: str, role: Role) -> list[LaunchTrial]:
        return [launch for launch in self.seen if launch.cell.id == cell and launch.role is role]

    def _counted(self, cell: str) -> int:
        whole = [launch for launch in self._of(cell, Role.MEASURE) if not launch.cut_short]
        return sum(launch.isolation is whole[-1].isolation for launch in whole)

    def decided(self, cell: str) -> bool:
        self.asked.append((cell, self._counted(cell)))
        point = next(launch.cell.point for launch in self.seen if launch.cell.id == cell)
        return self._counted(cell) >= self.decided_from.get(point, 10**9)

    def round_seconds(self, cell: str, isolation: Isolation) -> float | None:
        return self.seconds if self._of(cell, Role.MEASURE) else None

    def doubted(self, cell: str) -> Collection[str]:
        return [lane.variant for lane in self._alone(cell) if lane.variant in self.suspects]

    def crowded(self, cell: str) -> bool:
        alone = Counter(lane.variant for lane in self._alone(cell))
        return self.crowded_from is not None and any(
            alone[variant] >= self.crowded_from for variant in self.suspects
        )

    def _alone(self, cell: str) -> list[Any]:
        return [lane for launch in self._of(cell, Role.ALONE) for lane in launch.lanes]

    def flagged(self) -> Mapping[str, int]:
        ids = {launch.cell.point: launch.cell.id for launch in self.seen}
        return {ids[point]: num for point, num in self.to_confirm.items()}


def roles(assigned: list[Assignment], point: str = "features=0") -> list[Role]:
    return [launch.role for launch in launches(assigned) if launch.cell.point == point]


many = st.integers(1, 60)


@quick
@given(many, many)
def test_a_decision_at_a_look_ends_the_cell(most: int, decided_from: int) -> None:
    referee = ScriptedReferee(decided_from={"features=0": decided_from})
    assigned, _ = carry_out(run_of(cells=2, launches=most), referee=referee)
    expected = next((look for look in looks(most) if look >= decided_from), most)
    assert roles(assigned).count(Role.MEASURE) == expected
    assert roles(assigned, "features=1").count(Role.MEASURE) == most, "its neighbour goes on"


@quick
@given(many, st.integers(1, 3))
def test_nobody_looks_between_the_looks(most: int, cells: int) -> None:
    referee = ScriptedReferee()
    carry_out(run_of(cells=cells, launches=most), referee=referee)
    asked: dict[str, list[int]] = {}
    for cell, counted in referee.asked:
        asked.setdefault(cell, []).append(counted)
    assert all(counts == list(looks(most)) for counts in asked.values()), "each look once, and no other"
    assert len(asked) == (cells if looks(most) else 0)


@quick
@given(many, many)
def test_a_run_that_is_told_not_to_stop_never_does(most: int, decided_from: int) -> None:
    referee = ScriptedReferee(decided_from={"features=0": decided_from})
    assigned, _ = carry_out(run_of(cells=1, launches=most, stop=False), referee=referee)
    assert roles(assigned).count(Role.MEASURE) == most
    assert not referee.asked


def test_a_launch_that_is_cut_short_is_no_look() -> None:
    cut = iter([False, False, False, False, True, False])

    def fate(assignment: Assignment) -> Trial:
        trial = fine(assignment)
        measuring = isinstance(trial, LaunchTrial) and trial.role is Role.MEASURE
        return replace(trial, cut_short=next(cut, False)) if measuring else trial

    referee = ScriptedReferee(decided_from={"features=0": 5})
    assigned, _ = carry_out(run_of(cells=1, launches=10), fate, referee=referee)
    assert roles(assigned).count(Role.MEASURE) == 6
    assert [counted for _, counted in referee.asked] == [5]


@quick
@given(sizes)
def test_every_case_is_launched_alone_once_its_cell_has_its_pilot(run: Run) -> None:
    assigned, _ = carry_out(run)
    alone = Counter[str]()
    measured = Counter[str]()
    for launch in launches(assigned):
        if launch.role is Role.MEASURE:
            measured[launch.cell.id] += 1
            continue
        (case,) = launch.cases
        alone[case.id] += 1
        assert measured[launch.cell.id] == min(max(1, run.settings.pilot), run.settings.launches)
        assert launch.settings.isolation is Isolation.SHARED
    variants = len(run.suites[0].variants)
    expected = run.settings.alone if variants > 1 and run.settings.launches > 1 else 0
    assert alone == Counter({case.id: expected for case in run.cases if expected})


def test_one_launch_has_no_spread_that_a_level_alone_could_be_held_against() -> None:
    assigned, _ = carry_out(run_of(cells=3, variants="abc", launches=1))
    assert [launch.role for launch in launches(assigned)] == [Role.MEASURE] * 3


def test_whoever_failed_is_not_launched_alone() -> None:
    def fate(assignment: Assignment) -> Trial:
        trial = fine(assignment)
        if isinstance(trial, LaunchTrial) and trial.number == 1:
            lanes = (*trial.lanes[:-1], replace(trial.lanes[-1], failure=make_failure()))
            return replace(trial, lanes=lanes)
        return trial

    assigned, _ = carry_out(run_of(cells=1, variants="abc", launches=6), fate)
    assert [launch.cases[0].variant for launch in launches(assigned, Role.ALONE)] == ["a", "b"]


@pytest.mark.parametrize(
    ("variants", "more"),
    [("a", {}), ("ab", {"alone": 0}), ("ab", {"isolation": Isolation.SEPARATE})],
)
def test_no_launches_alone_where_nobody_has_company(variants: str, more: dict[str, Any]) -> None:
    referee = ScriptedReferee(suspects="ab", crowded_from=1)
    assigned, _ = carry_out(run_of(cells=2, variants=variants, launches=6, **more), referee=referee)
    assert not launches(assigned, Role.ALONE)
    assert len(launches(assigned, Role.MEASURE)) == 12
    isolation = more.get("isolation", Isolation.SHARED)
    assert {launch.settings.isolation for launch in launches(assigned)} == {isolation}


@quick
@given(st.sets(st.sampled_from("abc")), st.integers(2, 20), st.integers(1, 8), st.integers(1, 8))
def test_the_doubted_are_launched_alone_until_it_is_enough(
    suspects: set[str], most: int, alone: int, enough: int
) -> None:
    referee = ScriptedReferee(suspects=suspects)
    run = run_of(cells=1, variants="abc", launches=most, alone=alone, enough_alone=enough)
    assigned, _ = carry_out(run, referee=referee)
    launched = Counter(launch.cases[0].variant for launch in launches(assigned, Role.ALONE))
    assert launched == {variant: max(alone, enough) if variant in suspects else alone for variant in "abc"}
    assert {launch.settings.isolation for launch in launches(assigned)} == {Isolation.SHARED}


@quick
@given(st.integers(1, ENOUGH_ALONE), st.integers(2, 30), st.integers(0, 8))
def test_a_crowded_cell_is_measured_again_in_separate_processes(
    crowded_from: int, most: int, pilot: int
) -> None:
    referee = ScriptedReferee(suspects="b", crowded_from=crowded_from)
    assigned, _ = carry_out(run_of(cells=1, launches=most, pilot=pilot), referee=referee)
    cell = launches(assigned)
    isolations = [launch.settings.isolation for launch in cell]
    change = isolations.index(Isolation.SEPARATE)
    assert set(isolations[:change]) == {Isolation.SHARED}
    assert set(isolations[change:]) == {Isolation.SEPARATE}, "there is no way back"
    assert roles(assigned)[change:] == [Role.MEASURE] * most, "counting begins anew"
    assert [launch.number for launch in cell] == list(range(len(cell))), "but numbers go on"
    alone = Counter(launch.cases[0].variant for launch in launches(assigned, Role.ALONE))
    assert alone["b"] == crowded_from
    assert all(len(launch.cases) == 2 for launch in cell[change:])


def test_looks_begin_anew_in_separate_processes() -> None:
    referee = ScriptedReferee(decided_from={"features=0": 7}, suspects="b", crowded_from=2)
    assigned, _ = carry_out(run_of(cells=1, launches=20), referee=referee)
    apart = [one for one in launches(assigned) if one.settings.isolation is Isolation.SEPARATE]
    assert len(apart) == 7
    assert [counted for _, counted in referee.asked] == [5, 7]


def test_only_the_crowded_cell_is_set_apart() -> None:
    class OneCrowded(ScriptedReferee):
        def doubted(self, cell: str) -> Collection[str]:
            return super().doubted(cell) if "features=1" in cell else ()

    referee = OneCrowded(suspects="b", crowded_from=5)
    assigned, _ = carry_out(run_of(cells=2, launches=6), referee=referee)
    apart = {one.cell.point for one in launches(assigned) if one.settings.isolation is Isolation.SEPARATE}
    assert apart == {"features=1"}
    assert roles(assigned, "features=0").count(Role.MEASURE) == 6


def test_the_pilot_sets_the_length_of_later_launches() -> None:
    assigned, _ = carry_out(run_of(cells=1, launches=3), referee=ScriptedReferee(seconds=0.33))
    seconds = [launch.settings.round_seconds for launch in launches(assigned)]
    assert seconds == [0.15, 0.33, 0.33, 0.15, 0.15], "and not of those without company"


@quick
@given(st.dictionaries(st.sampled_from(["features=0", "features=2"]), st.integers(1, 8)), st.integers(1, 6))
def test_flagged_cells_are_measured_again_after_everything_else(wanted: dict[str, int], most: int) -> None:
    assigned, _ = carry_out(run_of(cells=3, launches=most), referee=ScriptedReferee(to_confirm=wanted))
    sequence = [launch.role for launch in launches(assigned)]
    num = sum(wanted.values())
    assert sequence[len(sequence) - num :] == [Role.CONFIRM] * num
    assert Counter(launch.cell.point for launch in launches(assigned, Role.CONFIRM)) == wanted
    assert all(len(launch.cases) == 2 for launch in launches(assigned, Role.CONFIRM))


def test_a_confirming_launch_that_is_cut_short_is_made_up_for() -> None:
    cut = iter([True])

    def fate(assignment: Assignment) -> Trial:
        trial = fine(assignment)
        confirming = isinstance(trial, LaunchTrial) and trial.role is Role.CONFIRM
        return replace(trial, cut_short=next(cut, False)) if confirming else trial

    referee = ScriptedReferee(to_confirm={"features=1": 3})
    assigned, _ = carry_out(run_of(cells=2), fate, referee=referee)
    assert len(launches(assigned, Role.CONFIRM)) == 4


def test_a_flagged_cell_that_loses_everybody_is_over() -> None:
    def fate(assignment: Assignment) -> Trial:
        trial = fine(assignment)
        if isinstance(trial, LaunchTrial) and trial.role is Role.CONFIRM:
            return replace(trial, lanes=tuple(replace(one, failure=make_failure()) for one in trial.lanes))
        return trial

    referee = ScriptedReferee(to_confirm={"features=1": 3})
    assigned, _ = carry_out(run_of(cells=2), fate, referee=referee)
    assert len(launches(assigned, Role.CONFIRM)) == 1


def measured_once(run: Run, referee: ScriptedReferee, cells: int | None = None) -> Schedule:
    """A schedule with the solo passes and one launch of so many cells, or of all, behind it."""
    schedule = Schedule(run, (), referee)
    all_cells = len({case.cell for case in run.cases})
    for _ in range((len(run.cases) // all_cells + 1) * (cells or all_cells)):
        assignment = schedule.next(0.0)
        assert assignment is not None
        schedule.note(fine(assignment))
    return schedule


def role_at(schedule: Schedule, elapsed: float) -> Role | None:
    assignment = schedule.next(elapsed)
    assert not isinstance(assignment, SoloAssignment)
    return assignment.role if assignment is not None else None


def test_a_part_of_a_sweeps_budget_is_kept_for_what_it_flags() -> None:
    run = run_of(cells=2, launches=9, budget=100.0)
    schedule = measured_once(run, ScriptedReferee(to_confirm={"features=1": 2}))
    reserve = 100.0 * (1.0 - RESERVE)
    assert reserve == pytest.approx(85.0)
    assert role_at(schedule, reserve - 0.1) is Role.MEASURE
    for _ in range(2):
        assignment = schedule.next(reserve)
        assert isinstance(assignment, LaunchAssignment)
        assert (assignment.role, assignment.cell.point) == (Role.CONFIRM, "features=1")
        schedule.note(fine(assignment))
    assert role_at(schedule, reserve) is None, "confirmed, and no time for more"


def test_no_launch_begins_after_the_budget_not_even_to_confirm() -> None:
    run = run_of(cells=2, launches=9, budget=100.0)
    schedule = measured_once(run, ScriptedReferee(to_confirm={"features=1": 2}))
    assert role_at(schedule, 99.9) is Role.CONFIRM
    assert role_at(schedule, 100.0) is None


@pytest.mark.parametrize(("cells", "confirm"), [(1, 5), (2, 0)])
def test_nothing_is_kept_where_nothing_will_be_confirmed(cells: int, confirm: int) -> None:
    run = run_of(cells=cells, launches=9, budget=100.0, confirm=confirm)
    schedule = measured_once(run, ScriptedReferee())
    assert role_at(schedule, 99.9) is Role.MEASURE
    assert role_at(schedule, 100.0) is (Role.MEASURE if cells == 1 else None), "one cell is owed three"


def test_launches_alone_do_not_use_up_the_reserve() -> None:
    run = run_of(cells=2, launches=9, budget=100.0, pilot=1)
    schedule = measured_once(run, ScriptedReferee(to_confirm={"features=1": 2}), cells=1)
    assert role_at(schedule, 80.0) is Role.ALONE
    assert role_at(schedule, 90.0) is Role.CONFIRM


def test_where_nothing_is_flagged_the_reserve_is_for_measuring() -> None:
    run = run_of(cells=2, launches=3, budget=100.0, alone=0)
    referee = ScriptedReferee()
    schedule = measured_once(run, referee)
    for _ in range(4):
        assignment = schedule.next(99.0)
        assert isinstance(assignment, LaunchAssignment)
        assert assignment.role is Role.MEASURE
        schedule.note(fine(assignment))
    referee.to_confirm = {"features=0": 1}
    assert role_at(schedule, 99.0) is Role.CONFIRM, "it is asked once more when all is measured"


scripted = st.builds(
    ScriptedReferee,
    decided_from=st.dictionaries(st.sampled_from(["features=0", "features=1"]), st.integers(1, 12)),
    suspects=st.sets(st.sampled_from("abc")),
    crowded_from=st.none() | st.integers(1, ENOUGH_ALONE),
    seconds=st.none() | st.just(0.4),
)
runs = st.builds(
    run_of,
    cells=st.integers(1, 3),
    variants=st.sampled_from(["a", "ab", "abc"]),
    launches=st.integers(1, 12),
    pilot=st.integers(0, 5),
    alone=st.integers(0, 2),
    stop=st.booleans(),
    confirm=st.integers(0, 3),
)


@quick
@given(runs, scripted, fates())
def test_whatever_happens_no_number_repeats_and_no_failure_returns(
    run: Run, referee: ScriptedReferee, fate: Fate
) -> None:
    assigned, trials = carry_out(run, fate, referee=referee)  # checks the progress at every step
    numbers = [(launch.cell.id, launch.number) for launch in launches(assigned)]
    assert len(set(numbers)) == len(numbers)
    gone: set[tuple[str, str]] = set()
    for assignment, trial in zip(assigned, trials, strict=True):
        if isinstance(assignment, SoloAssignment):
            gone |= {(case.cell.id, case.variant) for case in [assignment.case] if trial != fine(assignment)}
            continue
        assert isinstance(trial, LaunchTrial)
        assert not {(assignment.cell.id, case.variant) for case in assignment.cases} & gone
        gone |= {(trial.cell.id, lane.variant) for lane in trial.lanes if lane.failure}


def goes_on_anywhere(run: Run, fate: Fate, data: st.DataObject) -> None:
    """Cut the run anywhere: the referee of the resumed run gives the same answers, whatever it has missed."""
    assigned, trials = carry_out(run, fate, referee=RunReferee(run))
    stop = data.draw(st.integers(0, len(trials)))
    replayed = iter(trials[stop:])
    again, _ = carry_out(run, lambda _: next(replayed), past=trials[:stop], referee=RunReferee(run))
    assert again == assigned[stop:]


machines = st.builds(
    Machine,
    factors=st.fixed_dictionaries({"b": st.sampled_from([1.0, 1.03]), "c": st.sampled_from([0.9, 1.0])}),
    crowding=st.sampled_from([{}, {"b": 1.3}]),
    noise=st.sampled_from([Noise(0.001, 0.0005, 0.001), Noise()]),
    salt=st.integers(0, 1000),
)


@quick
@given(runs, machines, st.data())
def test_a_resumed_run_goes_on_exactly_where_it_stopped_with_the_real_referee(
    run: Run, machine: Machine, data: st.DataObject
) -> None:
    goes_on_anywhere(run, machine.perform, data)


@quick
@given(runs, machines.flatmap(lambda machine: fates(machine.perform)), st.data())
def test_a_resumed_run_with_failures_goes_on_exactly_where_it_stopped(
    run: Run, fate: Fate, data: st.DataObject
) -> None:
    goes_on_anywhere(run, fate, data)


def test_a_run_resumed_after_a_failure_while_confirming_goes_on_exactly_where_it_stopped() -> None:
    machine = Machine(by_cell={"features=0": {"b": 1.2}}, noise=Noise(0.001, 0.0005, 0.001))

    def fate(assignment: Assignment) -> Trial:
        trial = machine.perform(assignment)
        if not isinstance(trial, LaunchTrial) or trial.role is not Role.CONFIRM:
            return trial
        lanes = (replace(one, failure=make_failure()) if one.variant == "b" else one for one in trial.lanes)
        return replace(trial, lanes=tuple(lanes))

    run = run_of(cells=2, variants="abc", launches=6)
    assigned, trials = carry_out(run, fate, referee=RunReferee(run))
    first = next(place for place, one in enumerate(assigned) if one in launches(assigned, Role.CONFIRM))
    again, _ = carry_out(run, fate, past=trials[: first + 1], referee=RunReferee(run))
    assert again == assigned[first + 1 :]
