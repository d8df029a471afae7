"""memory-grows: what iterations keep, and what blocks add."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.lanes import CaseLanes, each_case
from stepmark.audit.memory_grows import memory_grows
from stepmark.records.finding import Severity
from stepmark.records.inspection import MemoryFacts
from stepmark.records.sample import pack
from stepmark.records.trial import LaneTrial, LaneWatch
from tests.support.inspected import inspected, step
from tests.support.properties import steady
from tests.support.recordings import edit_lanes, make_recording

MIB = 1 << 20
NUM = 5
LINEAR = [i * MIB // 4 for i in range(16)]
"""3.75 MiB in 16 readings."""


@steady
@given(st.integers(0, 1 << 16), st.integers(0, 1 << 16))
def test_two_iterations_that_keep_about_the_same(kept: int, before: int) -> None:
    finding = memory_grows(inspected(*step(), memory=MemoryFacts(kept=kept, kept_before=before)))
    alike = min(kept, before) >= 1024 and max(kept, before) <= 2 * min(kept, before)
    assert (finding is not None) == alike
    if finding is not None:
        assert finding.severity is Severity.WARNING
        assert dict(finding.numbers) == {"bytes_per_iteration": kept}


def grown(
    readings: Sequence[int],
    *,
    mine: int = 10 * MIB,
    dense: int = 0,
    num_launches: int = NUM,
) -> CaseLanes:
    """The process's memory in the first launches, and what the blocks of each lane added themselves."""

    def watched(number: int, lane: LaneTrial) -> LaneTrial:
        live = readings if number < num_launches else [0] * 16
        own = [mine if lane.variant == "mine" else dense] if live else []
        return replace(lane, watch=LaneWatch(live_bytes=pack(live), own_bytes=pack(own)))

    recording = edit_lanes(make_recording(num_launches=NUM), watched)
    return next(case for case in each_case(recording) if case.case.variant == "mine")


def test_blocks_that_go_on_adding() -> None:
    finding = memory_grows(grown(LINEAR))
    assert finding is not None
    assert finding.severity is Severity.WARNING
    assert "grew by 3.75 MiB in the course of a launch, steadily, in 5 of 5 launches" in finding.message


@pytest.mark.parametrize(
    "readings",
    [
        [0] * 16,
        [8 * MIB] * 16,
        [0, *[8 * MIB] * 15],
        [min(i, 8) * MIB for i in range(16)],
        [i % 2 * 4 * MIB for i in range(16)],
        [-i * MIB for i in range(16)],
        [i * 60_000 for i in range(16)],
        [i * MIB for i in range(5)],
        [],
    ],
    ids=["flat", "large", "at once", "levels off", "to and fro", "falls", "small", "few", "unwatched"],
)
def test_anything_else_is_no_growth(readings: list[int]) -> None:
    assert memory_grows(grown(readings)) is None


@pytest.mark.parametrize("num_launches", range(NUM + 1))
def test_most_launches_must_grow(num_launches: int) -> None:
    assert (memory_grows(grown(LINEAR, num_launches=num_launches)) is not None) == (num_launches >= 3)


@pytest.mark.parametrize(
    ("mine", "dense", "blamed"),
    [
        (MIB, 0, True),
        (MIB, -MIB, True),
        (MIB, 2 * MIB, True),
        (MIB, 3 * MIB, False),
        (0, MIB, False),
        (-MIB, MIB, False),
        (0, 0, False),
        (-MIB, -MIB, False),
    ],
)
def test_of_two_lanes_the_one_that_adds_is_blamed(mine: int, dense: int, blamed: bool) -> None:
    assert (memory_grows(grown(LINEAR, mine=mine, dense=dense)) is not None) == blamed


def test_a_lane_by_itself_has_nobody_else_to_blame() -> None:
    case = grown(LINEAR, mine=0)
    lanes = tuple((replace(launch, lanes=(lane,)), lane) for launch, lane in case.lanes)
    alone = CaseLanes(run=case.run, case=case.case, id=case.id, solo=case.solo, lanes=lanes)
    assert memory_grows(case) is None
    assert memory_grows(alone) is not None


@steady
@given(st.integers(6, 24), st.integers(70_000, 1 << 24))
def test_noise_does_not_hide_a_leak(num: int, leak: int) -> None:
    """A page or two to and fro on a leak of 70 kB a reading and more."""
    wave = [4096 * (i % 3) for i in range(num)]
    readings = [i * leak * 16 // num + wave[i] for i in range(num)]
    assert (memory_grows(grown(readings)) is not None) == (readings[-1] - readings[0] >= MIB)
