"""Memory through an iteration: levels, phases, and who made the peak."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.analysis.profile_memory import follow_memory
from stepmark.analysis.profile_spans import read_spans
from stepmark.records.profile import MemoryProfile, PhaseMemory, Trace
from tests.support.profiles import BACKWARD, FORWARD, example_trace, make_trace
from tests.support.properties import steady


def followed(trace: Trace) -> MemoryProfile:
    return follow_memory(
        trace.allocations, read_spans(trace.phases), read_spans(trace.operations), trace.names
    )


@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_the_level_is_above_the_start_of_the_last_iteration(iterations: int) -> None:
    memory = followed(example_trace(iterations))
    assert [point.num_bytes for point in memory.timeline] == [0, 4096, 5120, 7168, 6144, 8192]
    assert [point.seconds for point in memory.timeline] == pytest.approx(
        [0.0, 21e-6, 76e-6, 141e-6, 199e-6, 206e-6]
    )
    assert memory.peak == memory.timeline[-1]
    assert (memory.peak_phase, memory.peak_operation) == ("backward", "aten::mm")


def test_phases_have_peaks_and_what_they_leave() -> None:
    forward, backward = followed(example_trace()).phases
    assert (forward.phase, forward.peak_bytes, forward.held_bytes) == ("forward", 5120, 5120)
    assert (backward.phase, backward.peak_bytes, backward.held_bytes) == ("backward", 8192, 8192)
    assert (backward.begin_seconds, backward.end_seconds) == pytest.approx((120e-6, 300e-6))


def test_a_phase_that_takes_nothing_has_the_level_it_found() -> None:
    memory = followed(make_trace([FORWARD, BACKWARD], changes=[(50, 100), (60, -40)]))
    assert memory.phases[1] == PhaseMemory(
        phase="backward",
        begin_seconds=memory.phases[1].begin_seconds,
        end_seconds=memory.phases[1].end_seconds,
        peak_bytes=60,
        held_bytes=60,
    )
    assert memory.peak_operation is None


def test_no_memory_at_all() -> None:
    memory = followed(make_trace([FORWARD, BACKWARD]))
    assert memory.peak.num_bytes == 0
    assert len(memory.timeline) == 1
    assert {phase.peak_bytes for phase in memory.phases} == {0}


def test_a_peak_between_phases_belongs_to_none() -> None:
    memory = followed(make_trace([FORWARD, BACKWARD], changes=[(110, 100), (115, -100)]))
    assert (memory.peak.num_bytes, memory.peak_phase) == (100, None)


@steady
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(-1000, 1000)), max_size=20))
def test_the_peak_is_the_highest_level(drawn: list[tuple[int, int]]) -> None:
    changes = sorted(drawn, key=lambda change: change[0])
    memory = followed(make_trace([FORWARD, BACKWARD], changes=changes))
    levels = list(accumulate((change for _, change in changes), initial=0))
    assert memory.peak.num_bytes == max(levels)
    assert [point.num_bytes for point in memory.timeline] == levels
    assert max(phase.peak_bytes for phase in memory.phases) <= memory.peak.num_bytes
    assert memory.phases[-1].held_bytes == levels[-1]
