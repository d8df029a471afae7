"""The evidence of a case: what was counted, launched and ordered, in numbers that can be checked."""

from __future__ import annotations

from math import isfinite

import pytest
from msgspec.structs import replace

from stepmark.pages import make_page
from stepmark.pipeline import judged
from stepmark.records.sample import pack, unpack
from stepmark.records.trial import LaunchTrial
from stepmark.report.html.evidence import timed_cases
from stepmark.report.html.page_view import PageView
from tests.support.recordings import fail_lane, make_recording
from tests.support.whole_runs import whole_run


@pytest.fixture(scope="module")
def page() -> PageView:
    recording = whole_run(num_launches=4, num_rounds=12)
    return make_page(judged(recording), recording)


def test_shares_of_time_and_work_add_up(page: PageView) -> None:
    for case in page.cases:
        parts = [line for line in case.work if line.phase != case.judged.primary]
        assert sum(line.time_share or 0.0 for line in parts) == pytest.approx(1.0, abs=0.02)
        assert sum(line.work_share or 0.0 for line in case.work) == pytest.approx(1.0)
        assert sum(line.traffic_share or 0.0 for line in case.work) == pytest.approx(1.0)


def test_every_round_is_one_turn(page: PageView) -> None:
    for case in page.cases:
        assert sum(line.rounds for line in case.turns) == sum(line.rounds for line in case.launches)
        assert [line.turn for line in case.turns] == [1, 2, 3, 4]
        assert all(0.9 < line.relative < 1.1 for line in case.turns)


def test_launches_have_the_medians_of_their_blocks(page: PageView) -> None:
    recording = whole_run(num_launches=4, num_rounds=12)
    first = timed_cases(recording)[recording.run.cases[0].id].lanes[0][1]
    step = next(sample for sample in first.samples if sample.phase == "step")
    blocks = sorted(unpack(step.nanoseconds))
    middle = (blocks[5] + blocks[6]) / 2 / step.iterations * 1e-9
    assert page.cases[0].launches[0].median == pytest.approx(middle)
    assert {line.lanes for line in page.cases[0].launches} == {4}


def test_a_lane_that_failed_late_keeps_its_blocks() -> None:
    recording = fail_lane(make_recording(num_launches=2, num_rounds=6), "mine", launch=1, keep=2)
    page = make_page(judged(recording), recording)
    mine = page.cases[1]
    assert [line.rounds for line in mine.launches] == [6, 2]
    assert mine.turns == ()
    assert mine.series is not None
    assert mine.series.blocks == (6, 2)


@pytest.mark.parametrize("stopped", [(), (0,), (1, 2), (0, 1, 2)])
def test_a_launch_in_which_the_clock_never_moved_has_no_turns(stopped: tuple[int, ...]) -> None:
    recording = whole_run(axes={"features": (128,)}, num_launches=3, num_rounds=8, num_confirming=0)
    launches = [_stopped(launch) if launch.number in stopped else launch for launch in recording.launches]
    recording = replace(recording, launches=tuple(launches))
    for case in make_page(judged(recording), recording).cases:
        assert sum(line.rounds for line in case.turns) == 8 * (3 - len(stopped))
        assert all(isfinite(line.relative) for line in case.turns)


def _stopped(launch: LaunchTrial) -> LaunchTrial:
    """All its blocks but the last took no time."""
    lanes = []
    for lane in launch.lanes:
        blocks = (pack([*[0] * (sample.num_blocks - 1), 1000]) for sample in lane.samples)
        samples = (
            replace(each, nanoseconds=packed) for each, packed in zip(lane.samples, blocks, strict=True)
        )
        lanes.append(replace(lane, samples=tuple(samples)))
    return replace(launch, lanes=tuple(lanes))
