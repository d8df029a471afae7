"""uneven-iterations: heavy work now and then, and all that only looks like it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.lanes import each_case
from stepmark.audit.uneven_iterations import uneven_iterations
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.run import Recording
from stepmark.records.sample import Layout
from stepmark.records.trial import LaneTrial
from stepmark.stats.arrays import FloatArray
from tests.support.properties import steady
from tests.support.recordings import edit_lanes, make_recording
from tests.support.trials import FORWARD, OPS, TRAIN

Shape = Callable[[int, int], FloatArray]
"""Factors by round, given the launch and the number of rounds."""


def findings(recording: Recording) -> list[Finding]:
    return [found for case in each_case(recording) if (found := uneven_iterations(case)) is not None]


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


def every(period: int, factor: float) -> Shape:
    return lambda _, num: np.where(np.arange(num) % period == period - 1, factor, 1.0)


def recording_of(mine: float = 1.0, *, launches: int = 5, layout: Layout = TRAIN) -> Recording:
    return make_recording(
        variants={"dense": 1.0, "mine": mine}, num_launches=launches, num_rounds=60, layout=layout
    )


@pytest.mark.parametrize("layout", [TRAIN, FORWARD, OPS])
def test_what_is_faster_by_medians_and_slower_on_average_is_no_verdict(layout: Layout) -> None:
    (finding,) = findings(shaped(recording_of(0.7, layout=layout), every(4, 6.0), "mine"))
    assert "/mine[" in finding.case
    assert (finding.name, finding.severity) == (FindingName.UNEVEN_ITERATIONS, Severity.ERROR)
    numbers = dict(finding.numbers)
    assert numbers["ratio_of_means"] == pytest.approx(0.7 * 2.25, rel=0.05)
    assert numbers["ratio_of_medians"] == pytest.approx(0.7, rel=0.05)
    assert "1.5" in finding.message or "1.6" in finding.message


def test_what_is_faster_either_way_is_told_and_stands() -> None:
    (finding,) = findings(shaped(recording_of(0.5), every(5, 2.0), "mine"))
    assert finding.severity is Severity.WARNING


def test_an_uneven_baseline_is_told_where_it_is_compared() -> None:
    (finding,) = findings(shaped(recording_of(1.0), every(4, 3.0), "dense"))
    assert "/mine[" in finding.case
    assert dict(finding.numbers)["ratio_of_means"] < 0.8


@steady
@given(st.integers(0, 10_000), st.floats(0.5, 2.0))
def test_even_iterations_are_not_accused(seed: int, factor: float) -> None:
    recording = make_recording(
        variants={"dense": 1.0, "mine": factor}, num_launches=6, num_rounds=40, seed=seed
    )
    assert findings(recording) == []


@steady
@given(st.integers(0, 10_000), st.floats(0.0, 0.2), st.floats(2.0, 20.0))
def test_what_the_machine_does_to_both_arms_is_nobodys(seed: int, share: float, factor: float) -> None:
    """Blocks of either arm that were interrupted, as many of the one as of the other."""
    generator = np.random.default_rng(seed)

    def interrupted(_: int, num: int) -> FloatArray:
        return np.where(generator.permutation(num) < round(share * num), factor, 1.0)

    assert findings(shaped(recording_of(), interrupted, "dense", "mine")) == []


def test_two_launches_say_nothing_and_neither_does_one_that_was_hit() -> None:
    assert findings(shaped(recording_of(launches=2), every(4, 6.0), "mine")) == []
    once: Shape = lambda number, num: every(4, 6.0)(0, num) if number == 0 else np.ones(num)  # noqa: E731
    assert findings(shaped(recording_of(launches=6), once, "mine")) == []
