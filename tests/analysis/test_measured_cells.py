"""Which cells of a recording need no measuring again."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.measured_cells import measured_cells
from stepmark.records.run import Recording
from stepmark.records.trial import LaunchTrial, Role
from tests.support.recordings import make_recording
from tests.support.trials import make_failure

RECORDING = make_recording(axes={"features": (256, 512, 1024)}, num_launches=2)
POINTS = ("features=256", "features=512", "features=1024")


def points(recording: Recording) -> set[str]:
    return {case.cell.point for case in recording.run.cases if case.cell.id in measured_cells(recording)}


def with_launches_of(kept: Collection[str]) -> Recording:
    return replace(RECORDING, launches=tuple(each for each in RECORDING.launches if each.cell.point in kept))


def changed(recording: Recording, **fields: object) -> Recording:
    def change(launch: LaunchTrial) -> LaunchTrial:
        return replace(launch, **fields) if launch.cell.point == POINTS[0] else launch

    return replace(recording, launches=tuple(map(change, recording.launches)))


@given(st.sets(st.sampled_from(POINTS)))
def test_those_with_a_launch_that_came_to_its_end(kept: set[str]) -> None:
    assert points(with_launches_of(kept)) == kept


def test_not_those_that_were_cut_short_or_only_launched_without_company() -> None:
    assert points(changed(RECORDING, cut_short=True)) == {*POINTS[1:]}
    assert points(changed(RECORDING, role=Role.ALONE)) == {*POINTS[1:]}


def test_those_that_could_not_be_launched_but_not_those_of_which_something_could() -> None:
    launched = with_launches_of(POINTS[1:])

    def failing(variants: Collection[str]) -> Recording:
        return replace(
            launched,
            solos=tuple(
                replace(solo, failure=make_failure()) if solo.case.variant in variants else solo
                for solo in launched.solos
            ),
        )

    variants = {case.variant for case in RECORDING.run.cases}
    assert points(failing(variants)) == {*POINTS}
    assert points(failing(variants - {"mine"})) == {*POINTS[1:]}


def test_none_of_what_was_not_reached() -> None:
    assert measured_cells(replace(RECORDING, solos=(), launches=())) == frozenset()
