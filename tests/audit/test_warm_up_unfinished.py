"""warm-up-unfinished: a lane that gets faster in every launch, and all that only looks like it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

from stepmark.audit.lanes import each_case
from stepmark.audit.warm_up_unfinished import warm_up_unfinished
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.run import Recording
from stepmark.records.sample import Layout
from stepmark.records.trial import LaneTrial
from stepmark.stats.arrays import FloatArray
from tests.support.recordings import QUIET, Noise, edit_lanes, make_recording
from tests.support.trials import OPS, TRAIN

Shape = Callable[[int, int], FloatArray]
"""Factors by round, given the launch and the number of rounds."""


def findings(recording: Recording) -> list[Finding]:
    return [found for case in each_case(recording) if (found := warm_up_unfinished(case)) is not None]


def shaped(recording: Recording, shape: Shape, *variants: str) -> Recording:
    def change(number: int, lane: LaneTrial) -> LaneTrial:
        if lane.variant not in variants:
            return lane
        samples = []
        for sample in lane.samples:
            blocks = np.frombuffer(sample.nanoseconds, dtype="<i8")
            scaled = np.rint(blocks * shape(number, blocks.size)).astype("<i8")
            samples.append(replace(sample, nanoseconds=scaled.tobytes()))
        return replace(lane, samples=tuple(samples))

    return edit_lanes(recording, change)


def slow_first(_: int, num: int) -> FloatArray:
    return np.where(np.arange(num) < num // 5, 1.08, 1.0)


@pytest.mark.parametrize("layout", [TRAIN, OPS])
def test_the_lane_that_warms_up_is_named_and_not_its_neighbour(layout: Layout) -> None:
    recording = make_recording(num_launches=6, num_rounds=40, layout=layout)
    (finding,) = findings(shaped(recording, slow_first, "mine"))
    assert "/mine[" in finding.case
    assert (finding.name, finding.severity) == (FindingName.WARM_UP_UNFINISHED, Severity.WARNING)
    assert "in 6 of 6 launches" in finding.message
    assert "stepmark warmup" in finding.remedy


def test_the_size_is_said() -> None:
    recording = make_recording(num_launches=5, num_rounds=40, noise=QUIET)
    (finding,) = findings(shaped(recording, slow_first, "mine"))
    assert "8 % slower" in finding.message


def test_a_lane_alone_is_looked_at_by_its_own_times() -> None:
    recording = make_recording(variants={"mine": 1.0}, num_launches=6, num_rounds=40)
    (finding,) = findings(shaped(recording, slow_first, "mine"))
    assert "/mine[" in finding.case


def test_a_mood_of_the_machine_hits_all_lanes() -> None:
    recording = make_recording(num_launches=6, num_rounds=40)
    assert not findings(shaped(recording, slow_first, "dense", "mine"))


def test_a_neighbour_that_slows_down_is_not_a_warm_up() -> None:
    recording = make_recording(num_launches=6, num_rounds=40, noise=Noise(process=0.0))
    slower = shaped(recording, lambda _, num: np.linspace(1.0, 1.2, num), "dense")
    assert not findings(slower)


def test_it_must_be_in_most_launches() -> None:
    recording = make_recording(num_launches=12, num_rounds=40)

    def in_some(share: int) -> Shape:
        return lambda number, num: slow_first(number, num) if number < share else np.ones(num)

    assert findings(shaped(recording, in_some(10), "mine"))
    assert not findings(shaped(recording, in_some(9), "mine"))


def test_four_launches_are_too_few_for_a_sign() -> None:
    assert not findings(shaped(make_recording(num_launches=4, num_rounds=40), slow_first, "mine"))


@pytest.mark.parametrize("num_rounds", [0, 1, 9])
def test_few_rounds_have_no_first_tenth(num_rounds: int) -> None:
    assert not findings(shaped(make_recording(num_launches=6, num_rounds=num_rounds), slow_first, "mine"))


def test_one_per_cent_does_not_matter() -> None:
    recording = make_recording(num_launches=8, num_rounds=40, noise=QUIET)
    assert not findings(shaped(recording, lambda _, num: np.linspace(1.01, 1.0, num), "mine"))


def test_noise_alone_is_silent() -> None:
    noise = Noise(round=0.05)
    alarms = sum(
        len(findings(make_recording(num_launches=5, num_rounds=20, noise=noise, seed=seed)))
        for seed in range(40)
    )
    assert alarms == 0


def test_times_of_zero_are_passed_over() -> None:
    recording = make_recording(num_launches=6, num_rounds=40)
    assert not findings(shaped(recording, lambda _, num: np.zeros(num), "mine"))
