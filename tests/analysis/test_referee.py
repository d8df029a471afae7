"""The referee of a run in progress says what the judge says of the same launches afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.judge import judge
from stepmark.analysis.pilot import LONGEST, SHORTEST
from stepmark.analysis.referee import RunReferee
from stepmark.measure.assignment import LaunchAssignment
from stepmark.measure.referee import NoReferee
from stepmark.measure.schedule import Schedule
from stepmark.records.run import Judgement, Recording, Run
from stepmark.records.settings import Isolation, Policy, Settings
from stepmark.records.trial import LaunchTrial, Role, Trial
from stepmark.records.verdict import Look, Reason, VerdictKind
from stepmark.stats.sequential import looks
from tests.support.played_runs import Machine, play, recording_of
from tests.support.recordings import Noise, edit_lanes, fail_lane, fail_solo, make_recording, make_run
from tests.support.trials import FORWARD, make_failure, make_launch

some = settings(max_examples=40)

SMALL = Noise(process=0.02, instance=0.0005, round=0.001)
"""So little that five launches decide."""
MIDDLING = Noise(process=0.03, instance=0.004, round=0.01)
"""So much that some looks decide and others do not."""
noises = st.sampled_from([SMALL, MIDDLING, Noise(process=0.03, instance=0.03, round=0.02)])
factors = st.sampled_from([0.95, 1.0, 1.01, 1.03])

ENOUGH_ALONE = Settings().enough_alone


def referee_of(recording: Recording, launches: Sequence[LaunchTrial] | None = None) -> RunReferee:
    """One that has seen the recording's launches."""
    referee = RunReferee(recording.run)
    for launch in recording.launches if launches is None else launches:
        referee.note(launch)
    return referee


def last_looks(judgement: Judgement) -> dict[str, Look]:
    """By cell, where there is something to compare."""
    return {
        case.case.cell.id: verdict.look
        for case in judgement.cases
        for verdict in case.verdicts
        if verdict.look is not None
    }


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """Runs cut anywhere, of some cells, with failures now and then."""
    most = draw(st.sampled_from([6, 8, 12, 40]))
    recording = make_recording(
        variants={"a": 1.0, "b": draw(factors), "c": draw(factors)},
        axes={"features": range(draw(st.integers(1, 3)))},
        num_launches=draw(st.integers(1, 12).filter(lambda num: num <= most)),
        num_rounds=draw(st.integers(3, 8)),
        layout=FORWARD,
        noise=draw(noises),
        policy=Policy(margin=draw(st.sampled_from([0.01, 0.02]))),
        settings=Settings(launches=most),
        seed=draw(st.integers(0, 1000)),
    )
    match draw(st.sampled_from(["fine", "fine", "solo", "lane", "cut"])):
        case "solo":
            return fail_solo(recording, draw(st.sampled_from("abc")))
        case "lane":
            return fail_lane(recording, draw(st.sampled_from("abc")), launch=0, keep=2)
        case "cut":
            cut = draw(st.integers(0, len(recording.launches) - 1))
            launches = tuple(
                replace(launch, cut_short=place == cut) for place, launch in enumerate(recording.launches)
            )
            return replace(recording, launches=launches)
    return recording


@some
@given(recordings())
def test_referee_and_judge_agree_about_every_look(recording: Recording) -> None:
    referee = referee_of(recording)
    at = looks(recording.run.settings.launches)
    for cell, look in last_looks(judge(recording)).items():
        assert look.early == (look.launches in at and referee.decided(cell))


@some
@given(recordings())
def test_a_cell_without_anything_to_compare_is_never_decided(recording: Recording) -> None:
    referee = referee_of(recording)
    compared = last_looks(judge(recording))
    for cell in {case.cell.id for case in recording.run.cases} - set(compared):
        assert not referee.decided(cell)


@some
@given(recordings(), st.randoms(use_true_random=False))
def test_the_order_in_which_launches_came_does_not_matter(recording: Recording, random: Random) -> None:
    shuffled = list(recording.launches)
    random.shuffle(shuffled)
    one, other = referee_of(recording), referee_of(recording, shuffled)
    for cell in {case.cell.id for case in recording.run.cases}:
        assert one.decided(cell) == other.decided(cell)
        assert one.doubted(cell) == other.doubted(cell)
    assert one.flagged() == other.flagged()


@some
@given(recordings())
def test_what_is_flagged_is_what_the_judge_will_not_say_without_fresh_launches(recording: Recording) -> None:
    waiting = {
        case.case.cell.id
        for case in judge(recording).cases
        if case.verdict and Reason.NOT_REMEASURED in case.verdict.reasons
    }
    assert set(referee_of(recording).flagged()) == waiting


def test_they_agree_about_a_variant_of_which_no_launch_counts() -> None:
    recording = make_recording(
        variants={"a": 1.0, "b": 1.0, "c": 1.0},
        num_launches=5,
        layout=FORWARD,
        noise=SMALL,
        settings=Settings(launches=40),
    )
    short = edit_lanes(
        recording,
        lambda _, lane: (
            lane
            if lane.variant != "c"
            else replace(
                lane,
                rounds=lane.rounds[:16],
                samples=tuple(
                    replace(sample, nanoseconds=sample.nanoseconds[:16]) for sample in lane.samples
                ),
            )
        ),
    )
    (cell,) = {case.cell.id for case in short.run.cases}
    assert last_looks(judge(short))[cell].early == referee_of(short).decided(cell)


@pytest.mark.parametrize(("most", "num"), [(40, 10), (40, 9), (40, 20), (9, 9), (6, 6)])
def test_half_as_many_fresh_launches_confirm(most: int, num: int) -> None:
    recording = make_recording(
        variants={"a": 1.0, "b": 1.1},
        axes={"features": (1, 2)},
        num_launches=num,
        layout=FORWARD,
        noise=SMALL,
        settings=Settings(launches=most),
    )
    assert set(referee_of(recording).flagged().values()) == {max(5, -(-num // 2))}


def test_one_cell_is_no_sweep() -> None:
    recording = make_recording(variants={"a": 1.0, "b": 1.2}, num_launches=6, noise=SMALL)
    assert not referee_of(recording).flagged()


def run_of(cells: int = 1, variants: str = "ab", launches: int = 12, **more: object) -> Run:
    return make_run(
        variants=tuple(variants),
        axes={"features": tuple(range(cells))},
        settings=Settings(launches=launches, **more),  # type: ignore[arg-type]
    )


runs = st.builds(
    run_of,
    cells=st.integers(1, 3),
    variants=st.sampled_from(["ab", "abc"]),
    launches=st.integers(1, 12),
    pilot=st.integers(0, 5),
    confirm=st.sampled_from([0, 5]),
    stop=st.booleans(),
)
machines = st.builds(
    Machine,
    factors=st.fixed_dictionaries({"b": factors, "c": factors}),
    crowding=st.sampled_from([{}, {}, {"b": 1.3}]),
    noise=noises,
    salt=st.integers(0, 1000),
)


def counted(recording: Recording, cell: str) -> list[LaunchTrial]:
    """The launches that verdicts rest on: the separate ones, where there are any."""
    measuring = [
        launch for launch in recording.launches if launch.cell.id == cell and launch.role is Role.MEASURE
    ]
    return [launch for launch in measuring if launch.isolation is measuring[-1].isolation]


@some
@given(runs, machines)
def test_a_run_ends_early_where_the_judge_says_so(run: Run, machine: Machine) -> None:
    """The property that keeps the error rate: the verdict's interval is that of the look that ended it."""
    recording = play(run, machine, RunReferee(run))
    for cell, look in last_looks(judge(recording)).items():
        assert look.launches == len(counted(recording, cell))
        assert look.early == (look.launches < run.settings.launches)


@some
@given(runs, machines)
def test_no_cell_is_measured_on_after_the_judge_would_call_it_early(run: Run, machine: Machine) -> None:
    schedule = Schedule(run, (), RunReferee(run))
    trials: list[Trial] = []
    while (assignment := schedule.next(0.0)) is not None:
        if isinstance(assignment, LaunchAssignment) and assignment.role is Role.MEASURE:
            so_far = recording_of(run, trials)
            behind = [launch.isolation for launch in so_far.launches if launch.cell == assignment.cell]
            if assignment.settings.isolation in behind:  # else it has just been set apart
                look = last_looks(judge(so_far)).get(assignment.cell.id)
                assert look is None or not look.early
        trials.append(machine.perform(assignment))
        schedule.note(trials[-1])


@some
@given(runs, machines)
def test_a_finished_sweep_leaves_nothing_unconfirmed(run: Run, machine: Machine) -> None:
    judgement = judge(play(run, machine, RunReferee(run)))
    for case in judgement.cases:
        assert case.verdict is None or Reason.NOT_REMEASURED not in case.verdict.reasons


TAKEN_BACK = Machine(
    factors={"b": 0.95, "c": 0.95},
    crowding={"b": 1.3},
    noise=Noise(process=0.03, instance=0.03, round=0.02),
    salt=44,
)
"""Of its cells one ends early with `c` FASTER, and its fresh launches say no."""


@some
@given(machines, st.integers(6, 12))
@example(TAKEN_BACK, 8)
def test_what_ended_a_cell_early_is_decided(machine: Machine, most: int) -> None:
    """Also where it is one of many, and chance has many tries; fresh launches may take a decision back."""
    run = run_of(cells=3, variants="abc", launches=most, alone=0)
    for case in judge(play(run, machine, RunReferee(run))).cases:
        if case.verdict and case.verdict.look and case.verdict.look.early:
            is_open = case.verdict.kind is VerdictKind.INCONCLUSIVE
            assert not is_open or Reason.NOT_CONFIRMED in case.verdict.reasons


def test_a_sweep_does_not_stop_for_a_difference_that_it_will_take_back() -> None:
    machine = Machine(by_cell={"features=0": {"b": 1.025}}, noise=Noise(0.02, 0.002, 0.003))
    run = run_of(cells=16, launches=40, alone=0)
    verdict = judge(play(run, machine, RunReferee(run))).cases[1].verdict
    assert verdict is not None
    assert verdict.look is not None
    assert not (verdict.look.early and Reason.TOO_MANY_CELLS in verdict.reasons)


def launches_of(machine: Machine, run: Run, *, num: int, alone: int) -> list[LaunchTrial]:
    """Some launches in company, then each case alone."""
    taken: list[LaunchTrial] = []
    schedule = Schedule(replace(run, settings=replace(run.settings, launches=num, alone=alone, pilot=num)))
    while (assignment := schedule.next(0.0)) is not None:
        trial = machine.perform(assignment)
        schedule.note(trial)
        if isinstance(trial, LaunchTrial):
            taken.append(trial)
    return taken


CROWD = Machine(crowding={"b": 1.3}, noise=Noise(process=0.01, instance=0.002, round=0.002))


@pytest.mark.parametrize("alone", range(1, ENOUGH_ALONE + 1))
def test_one_launch_alone_raises_a_doubt_and_five_are_believed(alone: int) -> None:
    run = run_of()
    referee = RunReferee(run)
    cell = run.cases[0].cell.id
    for launch in launches_of(CROWD, run, num=5, alone=alone):
        referee.note(launch)
    assert list(referee.doubted(cell)) == ["b"]
    assert referee.crowded(cell) is (alone >= ENOUGH_ALONE)


def test_without_a_launch_alone_there_is_no_doubt() -> None:
    run = run_of()
    referee = RunReferee(run)
    for launch in launches_of(CROWD, run, num=5, alone=0):
        referee.note(launch)
    assert not referee.doubted(run.cases[0].cell.id)
    assert not referee.crowded(run.cases[0].cell.id)


def test_company_that_changes_nothing_is_not_doubted() -> None:
    run = run_of()
    referee = RunReferee(run)
    for launch in launches_of(Machine(noise=CROWD.noise), run, num=5, alone=5):
        referee.note(launch)
    assert not referee.doubted(run.cases[0].cell.id)


def test_levels_of_a_zero_clock_do_no_harm() -> None:
    run = run_of()
    referee = RunReferee(run)
    for launch in launches_of(CROWD, run, num=5, alone=5):
        lanes = tuple(
            replace(
                lane,
                samples=tuple(replace(one, nanoseconds=bytes(len(one.nanoseconds))) for one in lane.samples),
            )
            for lane in launch.lanes
        )
        referee.note(replace(launch, lanes=lanes))
    assert not referee.doubted(run.cases[0].cell.id)


def test_a_slow_only_in_company_variant_is_judged_in_separate_processes() -> None:
    run = run_of(launches=12)
    recording = play(run, CROWD, RunReferee(run))
    mine = judge(recording).cases[1]
    assert mine.verdict is not None
    assert Reason.SEPARATE_PROCESSES in mine.verdict.reasons
    assert mine.verdict.ratio is not None
    assert mine.verdict.ratio.point == pytest.approx(1.0, rel=0.02)
    shared = [launch for launch in recording.launches if launch.isolation is Isolation.SHARED]
    alone = [launch.lanes[0].variant for launch in shared if launch.role is Role.ALONE]
    assert (alone.count("a"), alone.count("b")) == (1, ENOUGH_ALONE)


def test_fresh_launches_that_disagree_take_the_verdict_back() -> None:
    machine = Machine(by_cell={"features=0": {"b": 1.1}}, confirming={"b": 1 / 1.1}, noise=SMALL)
    run = run_of(cells=2)
    judgement = judge(play(run, machine, RunReferee(run)))
    found = {case.case.cell.point: case.verdict for case in judgement.cases if case.verdict}
    assert found["features=0"].kind is VerdictKind.INCONCLUSIVE
    assert found["features=0"].reasons == (Reason.NOT_CONFIRMED,)
    assert found["features=1"].kind is VerdictKind.EQUIVALENT


def test_what_the_audit_takes_away_is_not_measured_again() -> None:
    machine = Machine(factors={"b": 0.3}, noise=SMALL)
    run = run_of(cells=2, launches=5)
    launches = [one for one in play(run, machine, NoReferee()).launches if one.role is Role.MEASURE]
    cells = {case.cell.id for case in run.cases}
    one = next(iter(cells))

    def flagged(*taken_away: str) -> set[str]:
        referee = RunReferee(run, lambda: frozenset(taken_away))
        for launch in launches:
            referee.note(launch)
        return {*referee.flagged()}

    assert flagged() == cells
    variants = {case.variant: case.id for case in run.cases if case.cell.id == one}
    assert flagged(variants["b"]) == flagged(variants["a"]) == cells - {one}


def test_separate_processes_have_a_pilot_of_their_own() -> None:
    run = run_of(launches=12)
    referee, cell = RunReferee(run), run.cases[0].cell.id
    for launch in play(run, CROWD, RunReferee(run)).launches:
        referee.note(launch)
    shared, separate = (referee.round_seconds(cell, one) for one in (Isolation.SHARED, Isolation.SEPARATE))
    assert shared is not None
    assert separate is not None
    assert shared != separate


def test_the_pilot_is_asked_once_and_its_answer_stays() -> None:
    run = run_of(launches=10, alone=0)
    referee, schedule = RunReferee(run), Schedule(run)
    cell = run.cases[0].cell.id
    answers = []
    while (assignment := schedule.next(0.0)) is not None:
        trial = CROWD.perform(assignment)
        schedule.note(trial)
        if isinstance(trial, LaunchTrial):
            referee.note(trial)
            answers.append(referee.round_seconds(cell, Isolation.SHARED))
    assert answers[:3] == [None] * 3, "not before the pilot is over"
    assert answers[3] is not None
    assert SHORTEST <= answers[3] <= LONGEST
    assert set(answers[3:]) == {answers[3]}


def test_a_pilot_with_a_launch_cut_short_is_still_a_pilot() -> None:
    """A launch that an interruption cut off after some rounds is paired, but not counted."""
    run = run_of(launches=10, alone=0)
    referee = RunReferee(run)
    first, *others = launches_of(CROWD, run, num=5, alone=0)
    for launch in (replace(first, cut_short=True), *others):
        referee.note(launch)
    assert referee.round_seconds(run.cases[0].cell.id, Isolation.SHARED) is not None


def failing(recording: Recording, *, role: Role, variant: str) -> Recording:
    """The variant fails in the last launch of this role that it is part of."""
    last = max(
        launch.number
        for launch in recording.launches
        if launch.role is role and any(lane.variant == variant for lane in launch.lanes)
    )
    return fail_lane(recording, variant, launch=last, keep=0, failure=make_failure(launch=last))


def test_a_failure_alone_is_a_failure() -> None:
    run = run_of(launches=4)
    recording = failing(play(run, Machine(noise=SMALL), RunReferee(run)), role=Role.ALONE, variant="b")
    assert judge(recording).cases[1].failure is not None


def test_a_failure_in_company_is_not_forgotten_when_the_cell_is_set_apart() -> None:
    run = run_of(variants="abc", launches=6)
    cell = run.cases[0].cell
    together = launches_of(Machine(noise=SMALL), run, num=5, alone=0)
    broken = tuple(
        replace(lane, failure=make_failure(launch=4)) if lane.variant == "c" else lane
        for lane in together[4].lanes
    )
    apart = [
        make_launch(cell, launch.lanes[:2], number=10 + number, isolation=Isolation.SEPARATE)
        for number, launch in enumerate(together)
    ]
    recording = recording_of(run, [*together[:4], replace(together[4], lanes=broken), *apart])
    assert judge(recording).cases[2].failure is not None
