"""Each rule, where it speaks and where it is silent."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from stepmark.audit import audit
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.run import Recording
from stepmark.records.sample import Layout, pack
from stepmark.records.settings import Isolation
from stepmark.records.trial import FlagChange, LaneTrial, Role, Warmup
from tests.support.recordings import QUIET, edit_lanes, fail_lane, fail_solo, make_recording
from tests.support.trials import FORWARD, OPS


def findings(recording: Recording, name: FindingName) -> list[Finding]:
    return [finding for finding in audit(recording) if finding.name is name]


def only(recording: Recording, name: FindingName) -> Finding:
    """The one finding of that name, about the case `mine`."""
    (finding,) = findings(recording, name)
    assert "/mine[" in finding.case
    return finding


def test_never_settled_counts_launches() -> None:
    warmup = Warmup(iterations=1, nanoseconds=pack([1]), settled=False)

    def restless(number: int, lane: LaneTrial) -> LaneTrial:
        there = lane.variant == "mine" and number in (1, 3)
        return msgspec.structs.replace(lane, warmup=warmup) if there else lane

    finding = only(edit_lanes(make_recording(num_launches=5), restless), FindingName.NEVER_SETTLED)
    assert finding.severity is Severity.WARNING
    assert "2 of 5 launches" in finding.message
    assert "5 s" in finding.message


def test_never_settled_is_silent_without_a_warmup() -> None:
    recording = edit_lanes(make_recording(), lambda _, lane: msgspec.structs.replace(lane, warmup=None))
    assert not findings(recording, FindingName.NEVER_SETTLED)


def test_global_state_changed_names_what_and_when() -> None:
    changes = tuple(
        FlagChange(name=name, before="True", after="False", round=4) for name in ("tf32", "a", "b", "c")
    )

    def careless(_: int, lane: LaneTrial) -> LaneTrial:
        return msgspec.structs.replace(lane, flag_changes=changes) if lane.variant == "mine" else lane

    finding = only(edit_lanes(make_recording(num_launches=3), careless), FindingName.CHANGES_ITS_NEIGHBOURS)
    assert finding.severity is Severity.WARNING
    assert "tf32 from True to False" in finding.message
    assert "and 1 more in 3 of 3 launches, first in round 4" in finding.message


@pytest.mark.parametrize(
    ("last", "remedy"),
    [
        (Isolation.SHARED, "ended before its cell was measured apart: do that with --isolation separate"),
        (Isolation.SEPARATE, "its cell was measured again in separate processes"),
    ],
)
def test_a_crowded_cell_is_said_to_be_measured_again_only_where_it_was(last: Isolation, remedy: str) -> None:
    crowded = make_recording(variants={"dense": 1.0, "mine": 1.5}, num_launches=6, noise=QUIET)
    freely = make_recording(variants={"dense": 1.0, "mine": 1.0}, num_launches=5, noise=QUIET)
    alone = [
        msgspec.structs.replace(
            launch, number=6 + launch.number, role=Role.ALONE, lanes=tuple(launch.lanes[1:])
        )
        for launch in freely.launches
    ]
    apart = msgspec.structs.replace(crowded.launches[0], number=11, isolation=last)
    recording = msgspec.structs.replace(crowded, launches=(*crowded.launches, *alone, apart))
    assert remedy in only(recording, FindingName.CHANGES_ITS_NEIGHBOURS).remedy


@pytest.mark.parametrize(("num_launches", "speaks"), [(1, True), (2, True), (3, False)])
def test_few_launches(num_launches: int, speaks: bool) -> None:
    found = findings(make_recording(num_launches=num_launches), FindingName.FEW_LAUNCHES)
    assert len(found) == (2 if speaks else 0)
    if speaks:
        assert f"in {num_launches} launch" in found[0].message
        assert "--launches" in found[0].remedy


def test_few_launches_leaves_failed_cases_alone() -> None:
    recording = fail_lane(make_recording(num_launches=2), "mine", launch=1, keep=3)
    assert [finding.case for finding in findings(recording, FindingName.FEW_LAUNCHES)] == [
        recording.run.cases[0].id
    ]
    recording = fail_solo(make_recording(num_launches=3), "mine")
    assert not findings(recording, FindingName.FEW_LAUNCHES)


def with_clock(recording: Recording, seconds: float) -> Recording:
    def clocked(_: int, lane: LaneTrial) -> LaneTrial:
        return msgspec.structs.replace(lane, clock_seconds=seconds) if lane.variant == "mine" else lane

    return edit_lanes(recording, clocked)


@pytest.mark.parametrize("layout", [FORWARD, OPS])
def test_clock_dominates_above_one_per_cent_of_the_primary(layout: Layout) -> None:
    recording = make_recording(num_launches=3, seconds=1e-5, layout=layout, noise=QUIET)
    finding = only(with_clock(recording, 2.5e-7), FindingName.CLOCK_DOMINATES)
    assert finding.severity is Severity.WARNING
    assert "250 ns to an iteration of 10 µs" in finding.message
    assert "2.5 %" in finding.message


def test_clock_dominates_is_silent_below() -> None:
    recording = make_recording(num_launches=3, seconds=1e-5)
    assert not findings(with_clock(recording, 9e-8), FindingName.CLOCK_DOMINATES)


def test_clock_dominates_a_time_of_zero() -> None:
    zeros = np.zeros(20, dtype="<i8").tobytes()

    def empty(_: int, lane: LaneTrial) -> LaneTrial:
        samples = tuple(msgspec.structs.replace(sample, nanoseconds=zeros) for sample in lane.samples)
        return msgspec.structs.replace(lane, samples=samples)

    assert len(findings(edit_lanes(make_recording(), empty), FindingName.CLOCK_DOMINATES)) == 2


def test_lane_failed_in_company_says_where() -> None:
    recording = fail_lane(make_recording(num_launches=4), "mine", launch=2, keep=7)
    finding = only(recording, FindingName.LANE_FAILED_IN_COMPANY)
    assert finding.severity is Severity.ERROR
    assert "1 of 4 launches" in finding.message
    assert "launch 2, rounds, round 7: crashed: RuntimeError: it broke" in finding.message


def test_lane_failed_in_company_is_silent_after_a_failure_alone() -> None:
    assert not findings(fail_solo(make_recording(), "mine"), FindingName.LANE_FAILED_IN_COMPANY)
