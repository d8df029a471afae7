"""The trials of each case, and how it ended."""

from __future__ import annotations

import msgspec
import pytest

from stepmark.analysis.trials import CaseTrials, CellLaunches, gather
from stepmark.records.outcome import Outcome
from stepmark.records.run import Recording
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaunchTrial, Role
from tests.support.recordings import fail_lane, fail_solo, make_recording
from tests.support.trials import TRAIN, make_failure


def by_variant(recording: Recording) -> dict[str, CaseTrials]:
    return {trials.case.variant: trials for trials in gather(recording).values()}


def test_every_case_of_the_run_in_its_order() -> None:
    recording = make_recording(axes={"features": (512, 1024)}, num_launches=2)
    assert list(gather(recording)) == [case.id for case in recording.run.cases]
    assert list(gather(msgspec.structs.replace(recording, solos=(), launches=()))) == list(gather(recording))


def test_lanes_are_in_the_order_of_the_launches_however_they_are_stored() -> None:
    recording = make_recording(num_launches=3)
    shuffled = msgspec.structs.replace(recording, launches=recording.launches[::-1])
    assert list(by_variant(shuffled)["mine"].lanes) == [0, 1, 2]


def test_lanes_of_other_cells_stay_there() -> None:
    recording = make_recording(axes={"features": (512, 1024)}, num_launches=2)
    moved = msgspec.structs.replace(recording, launches=recording.launches[:2])
    assert [len(trials.lanes) for trials in gather(moved).values()] == [2, 2, 0, 0]


def test_measured() -> None:
    trials = by_variant(make_recording(num_launches=2))["mine"]
    assert (trials.outcome, trials.failure, trials.layout) == (Outcome.MEASURED, None, TRAIN)


def test_not_reached() -> None:
    recording = make_recording()
    trials = by_variant(msgspec.structs.replace(recording, launches=(), solos=()))["mine"]
    assert (trials.outcome, trials.failure, trials.layout) == (None, None, None)


def test_layout_is_known_from_the_solo_pass_alone() -> None:
    trials = by_variant(msgspec.structs.replace(make_recording(), launches=()))["mine"]
    assert (trials.outcome, trials.layout) == (None, TRAIN)


def test_failure_alone_comes_before_failure_in_company() -> None:
    alone = make_failure(Outcome.OUT_OF_MEMORY)
    recording = fail_lane(make_recording(num_launches=3), "mine", launch=1, keep=4)
    solos = tuple(
        msgspec.structs.replace(solo, failure=alone) if solo.case.variant == "mine" else solo
        for solo in recording.solos
    )
    trials = by_variant(msgspec.structs.replace(recording, solos=solos))["mine"]
    assert (trials.outcome, trials.failure) == (Outcome.OUT_OF_MEMORY, alone)


def test_failure_in_company_counts_although_there_are_samples() -> None:
    trials = by_variant(fail_lane(make_recording(num_launches=3), "mine", launch=1, keep=4))["mine"]
    assert trials.outcome is Outcome.CRASHED
    assert trials.failure is not None
    assert (trials.failure.launch, trials.failure.round) == (1, 4)
    assert list(trials.measured) == [0, 1, 2]


def test_a_lane_without_a_complete_block_is_not_measured() -> None:
    trials = by_variant(fail_lane(make_recording(num_launches=3), "mine", launch=1, keep=0))["mine"]
    assert list(trials.measured) == [0, 2]


def test_the_isolation_is_a_fact_of_the_cell() -> None:
    for isolation in Isolation:
        trials = by_variant(make_recording(num_launches=1, isolation=isolation))["mine"]
        assert trials.cell.isolation is isolation


def of_cell(*launches: LaunchTrial) -> CellLaunches:
    recording = msgspec.structs.replace(make_recording(num_launches=1), launches=launches)
    return by_variant(recording)["mine"].cell


def some_launches(num: int, role: Role = Role.MEASURE, *, first: int = 0) -> list[LaunchTrial]:
    launches = make_recording(num_launches=num).launches
    return [msgspec.structs.replace(launch, role=role, number=first + launch.number) for launch in launches]


def test_launches_without_company_are_no_part_of_a_comparison() -> None:
    together, alone = some_launches(3), some_launches(2, Role.ALONE, first=3)
    cell = of_cell(*alone, *together)
    assert cell.launches == tuple(together)
    assert (cell.counted, cell.confirming) == (3, frozenset())


def test_confirming_launches_are_known_by_their_numbers_and_do_not_count() -> None:
    cell = of_cell(*some_launches(3), *some_launches(2, Role.CONFIRM, first=7))
    assert (cell.counted, cell.confirming) == (3, frozenset({7, 8}))
    assert [launch.number for launch in cell.launches] == [0, 1, 2, 7, 8]


def test_a_launch_cut_short_keeps_its_rounds_and_does_not_count() -> None:
    first, *others = some_launches(3)
    cell = of_cell(msgspec.structs.replace(first, cut_short=True), *others)
    assert (len(cell.launches), cell.counted) == (3, 2)


@pytest.mark.parametrize("isolation", [Isolation.SEPARATE, Isolation.ALONE])
def test_once_a_cell_is_set_apart_only_those_launches_count(isolation: Isolation) -> None:
    apart = [msgspec.structs.replace(launch, isolation=isolation) for launch in some_launches(2, first=4)]
    cell = of_cell(*some_launches(4), *apart)
    assert cell.launches == tuple(apart)
    assert (cell.isolation, cell.counted) == (isolation, 2)


@pytest.mark.parametrize("set_apart", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_want_of_memory_beside_others_is_no_failure_once_the_cell_was_measured_without_them(
    device: str, set_apart: bool
) -> None:
    recording = make_recording(num_launches=2)
    cell = msgspec.structs.replace(recording.run.cases[0].cell, device=device)
    crowded, later = (msgspec.structs.replace(launch, cell=cell) for launch in recording.launches)
    failure = make_failure(outcome=Outcome.OUT_OF_MEMORY)
    lanes = tuple(msgspec.structs.replace(lane, failure=failure) for lane in crowded.lanes)
    crowded = msgspec.structs.replace(crowded, lanes=lanes)
    later = msgspec.structs.replace(later, isolation=Isolation.ALONE if set_apart else Isolation.SHARED)
    cases = tuple(msgspec.structs.replace(case, cell=cell) for case in recording.run.cases)
    run = msgspec.structs.replace(recording.run, cases=cases)
    trials = by_variant(msgspec.structs.replace(recording, run=run, launches=(crowded, later), solos=()))[
        "mine"
    ]
    forgiven = device == "cuda" and set_apart
    assert trials.outcome is (Outcome.MEASURED if forgiven else Outcome.OUT_OF_MEMORY)


def test_a_launch_takes_so_long_on_average() -> None:
    first, second = some_launches(2)
    cell = of_cell(msgspec.structs.replace(first, seconds=1.0), msgspec.structs.replace(second, seconds=2.0))
    assert cell.seconds == 1.5
    assert CellLaunches().seconds == 0.0


def test_neighbours_are_not_touched_by_a_failure() -> None:
    trials = by_variant(fail_solo(make_recording(num_launches=2), "mine"))["dense"]
    assert trials.outcome is Outcome.MEASURED
