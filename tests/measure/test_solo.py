"""A solo pass: built, stepped, inspected; every end an event."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from stepmark.errors import Unsupported
from stepmark.instruments.fake import FakeInstrument
from stepmark.measure.lane import Bind
from stepmark.measure.program import Program
from stepmark.measure.protocol import Entered, Event, LaneFailed, SoloDone
from stepmark.measure.solo import MOST_STEPS, pass_alone
from stepmark.records.evidence import Evidence
from stepmark.records.inspection import Inspection, NumberCheck
from stepmark.records.outcome import Outcome, Stage
from stepmark.records.sample import unpack
from tests.measure.scripted import MS, QUICK, then


def alone(fake: FakeInstrument, bind: Bind) -> Sequence[Event]:
    events: list[Event] = []
    pass_alone("mine", bind, instrument=fake, settings=replace(QUICK, solo_steps=3), emit=events.append)
    return events


BUILD, STEP = (Entered(stage=stage, variant="mine") for stage in (Stage.BUILD, Stage.STEP))


def test_a_first_step_and_some_plain_ones() -> None:
    fake = FakeInstrument()
    program = fake.step({"forward": then(90 * MS, 10 * MS, 20 * MS, 30 * MS), "backward": then(10 * MS)})
    events = alone(fake, lambda: program)
    assert events[:2] == [BUILD, STEP]
    (done,) = events[2:]
    assert isinstance(done, SoloDone)
    assert done.evidence == Evidence(layout=program.layout, first_step_seconds=0.1)
    samples = {sample.phase: [value // MS for value in unpack(sample.nanoseconds)] for sample in done.samples}
    assert samples == {"step": [20, 30, 40], "forward": [10, 20, 30], "backward": [10, 10, 10]}
    assert {sample.iterations for sample in done.samples} == {1}


def test_short_steps_are_taken_often_enough_to_show_their_spread() -> None:
    fake = FakeInstrument()
    (*_, done) = alone(fake, lambda: fake.operations({"a": MS // 1000}))
    assert isinstance(done, SoloDone)
    assert [sample.num_blocks for sample in done.samples] == [MOST_STEPS]


def test_the_first_step_of_operations_is_all_of_them() -> None:
    fake = FakeInstrument()
    (*_, done) = alone(fake, lambda: fake.operations({"a": 2 * MS, "b": 3 * MS}))
    assert isinstance(done, SoloDone)
    assert done.evidence.first_step_seconds == pytest.approx(0.005)


def inspected(fake: FakeInstrument, seen: list[int]) -> Program:
    program = fake.step({"forward": MS})

    def inspect() -> Evidence:
        seen.append(fake.time)
        return Evidence(layout=program.layout, parameters=7)

    return Program(layout=program.layout, calls=program.calls, prepare=program.prepare, inspect=inspect)


def test_evidence_is_read_off_after_the_steps() -> None:
    fake = FakeInstrument()
    seen: list[int] = []
    (*_, done) = alone(fake, lambda: inspected(fake, seen))
    assert isinstance(done, SoloDone)
    assert seen == [(1 + MOST_STEPS) * MS]
    assert done.evidence.parameters == 7
    assert done.evidence.first_step_seconds == pytest.approx(0.001)


def broken_build() -> Program:
    raise Unsupported("only for wide layers")


def test_failing_to_build() -> None:
    first, failed = alone(FakeInstrument(), broken_build)
    assert first == BUILD
    assert isinstance(failed, LaneFailed)
    assert (failed.variant, failed.failure.stage) == ("mine", Stage.BUILD)
    assert failed.failure.outcome is Outcome.UNSUPPORTED


@pytest.mark.parametrize("step", range(4))
def test_failing_in_any_step(step: int) -> None:
    fake = FakeInstrument()
    count = iter(range(100))
    program = fake.step({"forward": lambda: 1 // (next(count) != step)})
    *before, failed = alone(fake, lambda: program)
    assert before == [BUILD, STEP]
    assert isinstance(failed, LaneFailed)
    assert failed.failure.stage is Stage.STEP
    assert "ZeroDivisionError" in failed.failure.message


@pytest.mark.parametrize(
    "error", [MemoryError("no room"), RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")]
)
@pytest.mark.parametrize("is_inspected", [False, True])
def test_a_comparison_that_finds_no_memory_is_no_failure_of_the_case(
    error: Exception, is_inspected: bool
) -> None:
    def verify() -> tuple[NumberCheck, ...]:
        raise error

    fake = FakeInstrument()
    examine = (lambda: Inspection(phases=(), training=True)) if is_inspected else None
    program = dataclasses.replace(fake.step({"forward": MS}), verify=verify, examine=examine)
    (*_, done) = alone(fake, lambda: program)
    assert isinstance(done, SoloDone)
    assert done.evidence.numbers == ()
    assert done.evidence.inspection is not None
    assert str(error) in done.evidence.inspection.problem
    assert done.evidence.inspection.training is (True if is_inspected else None)


def test_another_error_of_the_comparison_is_one_of_the_case() -> None:
    def verify() -> tuple[NumberCheck, ...]:
        raise KeyError("lost")

    fake = FakeInstrument()
    program = dataclasses.replace(fake.step({"forward": MS}), verify=verify)
    (*_, failed) = alone(fake, lambda: program)
    assert isinstance(failed, LaneFailed)
    assert failed.failure.outcome is Outcome.CRASHED
