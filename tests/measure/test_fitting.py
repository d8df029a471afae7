"""Fitting: variants that have no room together run one after another, and the verdict says so."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.measure.assignment import Assignment, LaunchAssignment, SoloAssignment
from stepmark.measure.fitting import CONTEXT, SHARE, room_for
from stepmark.records.memory import DeviceMemory
from stepmark.records.outcome import Outcome
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaunchTrial, Role, SoloTrial, Trial
from tests.measure.scheduling import Fate, carry_out, fine, launches, run_of
from tests.support.properties import steady
from tests.support.trials import make_failure

GIB = 1 << 30


def memory(held: float, peak: float, available: float = 100.0) -> DeviceMemory:
    """In GiB."""
    held, peak, available = (round(each * GIB) for each in (held, peak, available))
    return DeviceMemory(available=available, held=held, peak=peak, peak_reserved=peak)


def taking(variants: Mapping[str, DeviceMemory], fate: Fate = fine) -> Fate:
    """What the variants say of their memory in their solo pass."""

    def taken(assignment: Assignment) -> Trial:
        trial = fate(assignment)
        if not isinstance(trial, SoloTrial) or trial.evidence is None:
            return trial
        return replace(
            trial, evidence=replace(trial.evidence, device_memory=variants.get(trial.case.variant))
        )

    return taken


@pytest.mark.parametrize(
    ("cases", "wanted", "given_"),
    [
        ([memory(20, 40)] * 2, Isolation.SHARED, Isolation.SHARED),
        ([memory(44, 45)] * 2, Isolation.SHARED, Isolation.SHARED),
        ([memory(44, 60)] * 2, Isolation.SHARED, Isolation.ALONE),
        ([memory(1, 60)] * 2, Isolation.SHARED, Isolation.SHARED),
        ([replace(memory(1, 60), graph_pools=50 << 30)] * 2, Isolation.SHARED, Isolation.ALONE),
        ([memory(1, 60)] * 2, Isolation.SEPARATE, Isolation.ALONE),
        ([memory(1, 40)] * 2, Isolation.SEPARATE, Isolation.SEPARATE),
        ([memory(1, 95)], Isolation.SHARED, Isolation.SHARED),
        ([], Isolation.SHARED, Isolation.SHARED),
        ([memory(1, 2)] * 2, Isolation.ALONE, Isolation.ALONE),
    ],
)
def test_room(cases: list[DeviceMemory], wanted: Isolation, given_: Isolation) -> None:
    assert room_for(cases, wanted) is given_


@steady
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=5))
def test_processes_of_their_own_never_have_more_room_than_one(sizes: list[tuple[int, int]]) -> None:
    cases = [memory(held, held + more) for held, more in sizes]
    if room_for(cases, Isolation.SEPARATE) is Isolation.SEPARATE:
        assert room_for(cases, Isolation.SHARED) is Isolation.SHARED
    total = sum(case.peak_reserved + CONTEXT for case in cases)
    if total <= SHARE * cases[0].available:
        assert room_for(cases, Isolation.SHARED) is Isolation.SHARED


def isolations(assigned: list[Assignment], *roles: Role) -> set[Isolation]:
    return {each.settings.isolation for each in launches(assigned, *roles)}


@pytest.mark.parametrize(
    ("variants", "isolation"),
    [
        ({}, Isolation.SHARED),
        ({"a": memory(30, 40), "b": memory(30, 40)}, Isolation.SHARED),
        ({"a": memory(60, 70), "b": memory(60, 70)}, Isolation.ALONE),
        ({"a": memory(60, 70)}, Isolation.SHARED),
    ],
)
def test_a_run_that_knows_what_its_cases_took(
    variants: Mapping[str, DeviceMemory], isolation: Isolation
) -> None:
    assigned, _ = carry_out(run_of(cells=1), taking(variants))
    assert isolations(assigned) == {isolation}
    assert (Role.ALONE in {each.role for each in launches(assigned)}) == (isolation is Isolation.SHARED)


def test_a_variant_that_failed_takes_no_room() -> None:
    def fate(assignment: Assignment) -> Trial:
        trial = fine(assignment)
        if isinstance(assignment, SoloAssignment) and assignment.case.variant == "c":
            assert isinstance(trial, SoloTrial)
            return replace(trial, evidence=None, failure=make_failure(Outcome.OUT_OF_MEMORY))
        return trial

    sizes = {"a": memory(30, 40), "b": memory(30, 40), "c": memory(80, 90)}
    assigned, _ = carry_out(run_of(cells=1, variants="abc"), taking(sizes, fate))
    assert isolations(assigned) == {Isolation.SHARED}


def crowded(variant: str, device: str) -> Fate:
    """The variant runs out of memory wherever it is not alone."""

    def fate(assignment: Assignment) -> Trial:
        trial = fine(assignment)
        if not isinstance(trial, LaunchTrial) or len(trial.lanes) < 2:
            return trial
        if trial.isolation is Isolation.ALONE:
            return trial
        failure = make_failure(Outcome.OUT_OF_MEMORY)
        return replace(
            trial,
            lanes=tuple(
                replace(lane, failure=failure) if lane.variant == variant else lane for lane in trial.lanes
            ),
        )

    def on_device(assignment: Assignment) -> Trial:
        trial = fate(assignment)
        assert assignment.cell.device == device if isinstance(assignment, LaunchAssignment) else True
        return trial

    return on_device


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_running_out_of_memory_beside_others_sets_a_cell_of_an_accelerator_apart(device: str) -> None:
    run = run_of(cells=1, launches=3)
    cases = tuple(replace(case, cell=replace(case.cell, device=device)) for case in run.cases)
    assigned, _ = carry_out(replace(run, cases=cases), crowded("b", device))
    measuring = launches(assigned, Role.MEASURE)
    if device == "cpu":
        assert [len(each.cases) for each in measuring] == [2, 1, 1], "b has left"
    else:
        apart = [each for each in measuring if each.settings.isolation is Isolation.ALONE]
        assert [len(each.cases) for each in apart] == [2, 2, 2], "counting begins anew, with both"
        assert len(measuring) == 4
