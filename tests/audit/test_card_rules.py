"""What an accelerator's card and its streams tell the audit: labels, cycles, company, waits, stray work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as replace_case
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.backward_does_nothing import backward_does_nothing
from stepmark.audit.clock_drift import clock_drift
from stepmark.audit.cycles import both_ratios
from stepmark.audit.lane_failed_in_company import lane_failed_in_company
from stepmark.audit.lanes import CaseLanes, each_case
from stepmark.audit.noisy_neighbour import noisy_neighbour
from stepmark.audit.not_synchronised import not_synchronised
from stepmark.audit.phase_bleed import phase_bleed
from stepmark.audit.synchronises_inside import synchronises_inside
from stepmark.audit.throttled import throttled
from stepmark.records.card import CardFacts, CardReading, pack_readings
from stepmark.records.case import Mode
from stepmark.records.finding import Severity
from stepmark.records.inspection import Inspection, PhaseInspection
from stepmark.records.outcome import Outcome
from stepmark.records.run import Recording
from stepmark.records.sample import Layout, Sample, pack
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaunchActivity
from tests.support.properties import steady
from tests.support.recordings import QUIET, edit_lanes, make_recording
from tests.support.trials import OPS, TRAIN, make_failure

POWER, HEAT = 0x04, 0x20
NUM = 5


def mine(recording: Recording) -> CaseLanes:
    return next(case for case in each_case(recording) if case.case.variant == "mine")


def on_card(recording: Recording, megahertz: Mapping[str, float], reasons: int = 0) -> Recording:
    """Three readings in each lane, of these clocks."""

    def read(variant: str) -> Any:
        seen = CardReading(megahertz=megahertz[variant], watts=600.0, reasons=reasons)
        return pack_readings((number, seen) for number in (0, 2, 4))

    return edit_lanes(
        recording, lambda _, lane: replace(lane, watch=replace(lane.watch, card=read(lane.variant)))
    )


def measured(ratio: float, dense: float, other: float, *, num: int = NUM, reasons: int = 0) -> CaseLanes:
    recording = make_recording(variants={"dense": 1.0, "mine": ratio}, num_launches=num, noise=QUIET)
    return mine(on_card(recording, {"dense": dense, "mine": other}, reasons))


# ── cycles ──────────────────────────────────────────────────────────────────────────────────────────


@steady
@given(st.floats(0.8, 1.25), st.integers(1200, 1980), st.integers(1200, 1980))
def test_cycles_are_time_times_clock(ratio: float, dense: int, other: int) -> None:
    both = both_ratios(measured(ratio, dense, other))
    assert both is not None
    assert both.cycles.point == pytest.approx(both.time.point * other / dense)
    assert (both.megahertz, both.baseline_megahertz) == (other, dense)


@pytest.mark.parametrize(
    ("ratio", "dense", "other", "warns"),
    [
        (0.95, 1800, 1900, True),
        (0.95, 1900, 1900, False),
        (1.0, 1800, 1980, True),
        (1.0, 1900, 1905, False),
        (0.5, 1500, 1980, False),
    ],
)
def test_a_verdict_that_the_clock_decides(ratio: float, dense: int, other: int, warns: bool) -> None:
    finding = clock_drift(measured(ratio, dense, other))
    assert (finding is not None) == warns
    if finding is not None:
        assert finding.severity is Severity.WARNING
        assert f"{other} MHz, the baseline at {dense} MHz" in finding.message


def test_cycles_need_two_launches_a_baseline_and_clocks() -> None:
    assert both_ratios(measured(0.9, 1800, 1900, num=1)) is None
    recording = make_recording(num_launches=NUM)
    assert both_ratios(mine(recording)) is None
    dense = next(case for case in each_case(recording) if case.is_baseline)
    assert both_ratios(dense) is None


# ── throttled ───────────────────────────────────────────────────────────────────────────────────────


def test_blocks_under_strain_are_labelled_and_told() -> None:
    case = measured(1.0, 1800, 1800, reasons=POWER | HEAT)
    finding = throttled(case)
    assert finding is not None
    assert "power cap, heat (software)" in finding.message
    assert f"after {3 * NUM} of {3 * NUM} blocks that were looked at" in finding.message
    assert dict(finding.numbers)["held_down"] == 3 * NUM
    assert all(lane.samples for _, lane in case.lanes), "nothing is dropped"


def test_a_card_that_nothing_holds_down() -> None:
    assert throttled(measured(1.0, 1800, 1800)) is None


def of_a_card(case: CaseLanes, megahertz: float | None) -> CaseLanes:
    """The same on a card whose highest clock is that."""
    run = case.run
    card = CardFacts(name="card", max_megahertz=megahertz)
    torch = replace(run.environment.torch, devices=("card",), cards=(card,))
    cell = replace(case.case.cell, device="cuda")
    environment = replace(run.environment, torch=torch)
    return replace_case(case, run=replace(run, environment=environment), case=replace(case.case, cell=cell))


@pytest.mark.parametrize(
    ("clock", "highest", "told"),
    [
        (1965, 1980.0, None),
        (1930, 1980.0, None),
        (1900, 1980.0, "down to 1900 of 1980 MHz"),
        (1965, None, "down"),
    ],
)
def test_a_reason_counts_where_the_clock_is_low(clock: int, highest: float | None, told: str | None) -> None:
    finding = throttled(of_a_card(measured(1.0, 1980, clock, reasons=POWER), highest))
    assert (finding is not None) == (told is not None)
    if finding is not None and told is not None:
        assert finding.message.startswith(f"the clock was held {told} (power cap) after {3 * NUM} of")


@pytest.mark.parametrize(
    ("ends", "is_told"), [((1980.0, 1950.0), False), ((1980.0, 1500.0), True), (None, True)]
)
def test_so_does_one_at_the_ends_of_a_launch(ends: tuple[float, float] | None, is_told: bool) -> None:
    activity = LaunchActivity(throttle_reasons=("power cap",), megahertz=ends)
    recording = make_recording(num_launches=NUM, noise=QUIET)
    launches = tuple(replace(launch, activity=activity) for launch in recording.launches)
    finding = throttled(of_a_card(mine(replace(recording, launches=launches)), 1980.0))
    assert (finding is not None) == is_told
    if finding is not None:
        assert finding.message == "the clock was held down (power cap), in 5 of 5 launches"


# ── company on the card ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("isolation", list(Isolation))
@pytest.mark.parametrize("processes", [None, 0, 1, 2, 3, 5])
def test_more_processes_than_its_own(isolation: Isolation, processes: int | None) -> None:
    recording = make_recording(num_launches=NUM, isolation=isolation)
    seen = CardReading(processes=processes)
    launches = tuple(
        replace(launch, activity=LaunchActivity(card=(CardReading(processes=1), seen)))
        for launch in recording.launches
    )
    finding = noisy_neighbour(mine(replace(recording, launches=launches)))
    own = 2 if isolation is Isolation.SEPARATE else 1
    assert (finding is not None) == ((processes or 0) > own)
    if finding is not None and processes is not None:
        assert dict(finding.numbers)["card"] == processes - own
        assert "computed on the card" in finding.message


# ── waits and stray work ────────────────────────────────────────────────────────────────────────────


def inspected(
    *phases: PhaseInspection, layout: Layout = TRAIN, device: str = "cuda", **facts: Any
) -> CaseLanes:
    recording = make_recording(num_launches=2, layout=layout, noise=QUIET)
    mode = Mode.OPS if layout is OPS else Mode.TRAIN
    solos = []
    for solo in recording.solos:
        assert solo.evidence is not None
        evidence = replace(solo.evidence, inspection=Inspection(phases=phases, **facts))
        solos.append(replace(solo, evidence=evidence))
    recording = replace(recording, solos=tuple(solos))
    case = mine(recording)
    cell = replace(case.case.cell, device=device, mode=mode)
    return CaseLanes(
        run=case.run, case=replace(case.case, cell=cell), id=case.id, solo=case.solo, lanes=case.lanes
    )


def test_waits_are_told_with_their_places() -> None:
    assert synchronises_inside(inspected(PhaseInspection(phase="forward"))) is None
    waits = tuple(f"layer.py:{line}" for line in range(5))
    finding = synchronises_inside(
        inspected(PhaseInspection(phase="forward", waits=waits), PhaseInspection(phase="backward"))
    )
    assert finding is not None
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "forward makes the host wait for the device, at layer.py:0, layer.py:1, layer.py:2 and 2 more"
    )


STRAY = 2e-3
STEP = ("forward", "loss", "backward", "optimizer")


@pytest.mark.parametrize("phase", STEP)
def test_work_on_another_stream_bleeds_into_the_next_phase_or_out_of_the_step(phase: str) -> None:
    phases = [PhaseInspection(phase=name, stray_seconds=STRAY if name == phase else 0.0) for name in STEP]
    case = inspected(*phases, foreign_streams=True)
    last = phase == STEP[-1]
    assert (not_synchronised(case) is not None) == last
    bleeding = phase_bleed(case)
    assert (bleeding is not None) == (not last)
    if bleeding is not None:
        assert bleeding.severity is Severity.WARNING
        assert f"after {phase} was done" in bleeding.message


def test_any_operation_that_leaves_work_behind_is_not_synchronised() -> None:
    phases = [PhaseInspection(phase=name, stray_seconds=STRAY) for name in OPS.phases[:1]]
    finding = not_synchronised(inspected(*phases, layout=OPS, foreign_streams=True))
    assert finding is not None
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("stray", "iteration", "found"),
    [
        (157e-6, 0.37, False),
        (130e-6, 1.9, False),
        (157e-6, 1e-3, True),
        (1.1e-3, 1.9, True),
    ],
)
def test_a_wait_that_grows_with_the_work_before_it_is_no_work_left_behind(
    stray: float, iteration: float, found: bool
) -> None:
    phases = [PhaseInspection(phase=name, stray_seconds=stray) for name in STEP]
    case = inspected(*phases, foreign_streams=True)
    assert case.solo is not None
    sample = Sample(phase=TRAIN.whole or "", iterations=1, nanoseconds=pack([round(iteration * 1e9)] * 3))
    case = CaseLanes(
        run=case.run, case=case.case, id=case.id, solo=replace(case.solo, samples=(sample,)), lanes=case.lanes
    )
    assert (not_synchronised(case) is not None) == found


def test_records_of_before_that_know_no_phases_of_stray_work() -> None:
    assert not_synchronised(inspected(PhaseInspection(phase="forward"), foreign_streams=True)) is not None


# ── nothing, on an accelerator ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("device", "clock", "found"), [("cuda", 40e-6, True), ("cuda", 2e-6, False)])
def test_an_empty_operation_costs_what_the_clock_costs(device: str, clock: float, found: bool) -> None:
    layout = Layout(phases=("backward",), primary="backward")
    recording = make_recording(num_launches=2, layout=layout, noise=QUIET, seconds=30e-6)
    recording = edit_lanes(recording, lambda _, lane: replace(lane, clock_seconds=clock))
    solos = []
    for solo in recording.solos:
        assert solo.evidence is not None
        phase = PhaseInspection(phase="backward")
        evidence = replace(solo.evidence, inspection=Inspection(phases=(phase,)))
        samples = recording.launches[0].lanes[0].samples
        solos.append(replace(solo, evidence=evidence, samples=samples))
    case = mine(replace(recording, solos=tuple(solos)))
    cell = replace(case.case.cell, device=device, mode=Mode.OPS)
    case = CaseLanes(
        run=case.run, case=replace(case.case, cell=cell), id=case.id, solo=case.solo, lanes=case.lanes
    )
    assert (backward_does_nothing(case) is not None) == found


# ── memory beside others ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("isolation", list(Isolation))
@pytest.mark.parametrize("outcome", [Outcome.OUT_OF_MEMORY, Outcome.CRASHED])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_want_of_memory_is_forgiven_where_the_cell_was_then_measured_one_by_one(
    isolation: Isolation, outcome: Outcome, device: str
) -> None:
    recording = make_recording(num_launches=2)
    first, second = recording.launches
    lanes = tuple(replace(lane, failure=make_failure(outcome)) for lane in first.lanes)
    cell = replace(first.cell, device=device)
    case = mine(recording)
    pairs = (
        (replace(first, cell=cell, lanes=lanes), lanes[1]),
        (replace(second, cell=cell, isolation=isolation), second.lanes[1]),
    )
    finding = lane_failed_in_company(
        CaseLanes(run=case.run, case=case.case, id=case.id, solo=case.solo, lanes=pairs)
    )
    forgiven = isolation is Isolation.ALONE and outcome is Outcome.OUT_OF_MEMORY and device == "cuda"
    assert (finding is None) == forgiven
