"""The sampling loop: exactly the scripted times, and nothing else inside the clock."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.instruments.fake import FakeInstrument
from stepmark.measure.program import Program
from stepmark.measure.sampler import clock_cost, run_block
from stepmark.records.sample import Layout
from tests.support.properties import steady

nanoseconds = st.integers(0, 10**9)
phases = st.dictionaries(
    st.sampled_from(["forward", "loss", "backward", "optimizer"]), nanoseconds, min_size=1
)
counts = st.integers(1, 20)
readings = st.integers(0, 1000)


def block(program: Program, iterations: int, clock: FakeInstrument) -> dict[str, int]:
    """Totals of a training step by phase."""
    names = program.layout.phases
    return dict(zip(names, run_block(program, (iterations,) * len(names), clock), strict=True))


def runs_of(iterations: int) -> int:
    """A block of several iterations runs each twice: timed whole, and taken apart."""
    return 1 if iterations == 1 else 2 * iterations


@steady
@given(phases, counts, nanoseconds)
def test_a_phase_is_what_it_took_and_prepare_is_outside(
    durations: dict[str, int], iterations: int, prepare: int
) -> None:
    fake = FakeInstrument()
    totals = block(fake.step(durations, prepare=prepare), iterations, fake)
    assert totals.pop("step") == iterations * sum(durations.values())
    assert totals == {phase: iterations * duration for phase, duration in durations.items()}
    assert fake.time == runs_of(iterations) * (prepare + sum(durations.values()))


@steady
@given(phases, counts, readings)
def test_a_phase_contains_one_reading_and_so_does_a_step(
    durations: dict[str, int], iterations: int, reading: int
) -> None:
    """But for a block of one iteration, whose step contains the readings of its phases."""
    fake = FakeInstrument(reading=reading)
    totals = block(fake.step(durations), iterations, fake)
    inside = 1 if iterations > 1 else 2 * len(durations) + 1
    assert totals.pop("step") == iterations * (sum(durations.values()) + inside * reading)
    assert totals == {phase: iterations * (once + reading) for phase, once in durations.items()}


@steady
@given(st.lists(st.tuples(nanoseconds, nanoseconds), min_size=2, max_size=10))
def test_steps_timed_whole_and_steps_taken_apart_take_turns(script: list[tuple[int, int]]) -> None:
    """Iterations differ here, so that it shows which of them went where."""
    script = script[: len(script) // 2 * 2]
    fake = FakeInstrument()
    forward, backward = iter([f for f, _ in script]), iter([b for _, b in script])
    program = fake.step({"forward": lambda: next(forward), "backward": lambda: next(backward)})
    iterations = len(script) // 2
    totals = block(program, iterations, fake)
    whole, apart = (script[0::2], script[1::2]) if iterations > 1 else (script[:1], script[:1])
    assert totals["step"] == sum(f + b for f, b in whole)
    assert totals["forward"] == sum(f for f, _ in apart)
    assert totals["backward"] == sum(b for _, b in apart)


def test_every_iteration_is_prepared() -> None:
    log: list[str] = []
    program = Program(
        layout=Layout(phases=("step", "f", "b"), primary="step", whole="step"),
        calls=(lambda: log.append("f"), lambda: log.append("b")),
        prepare=lambda: log.append("prepare"),
    )
    for iterations in (1, 3):
        log.clear()
        run_block(program, (iterations,) * 3, FakeInstrument())
        assert log == ["prepare", "f", "b"] * runs_of(iterations)


@pytest.mark.parametrize("order", [("step", "f", "b"), ("f", "step", "b"), ("f", "b", "step")])
def test_totals_come_in_the_order_of_the_layout(order: tuple[str, ...]) -> None:
    fake = FakeInstrument()
    program = Program(
        layout=Layout(phases=order, primary="step", whole="step"),
        calls=(lambda: fake.advance(1), lambda: fake.advance(20)),
        prepare=lambda: fake.advance(300),
    )
    assert block(program, 2, fake) == {"step": 42, "f": 2, "b": 40}


@steady
@given(st.lists(st.tuples(nanoseconds, counts), min_size=1, max_size=4), readings)
def test_a_batch_pays_for_one_reading(operations: list[tuple[int, int]], reading: int) -> None:
    fake = FakeInstrument(reading=reading)
    program = fake.operations({f"op{i}": once for i, (once, _) in enumerate(operations)})
    totals = run_block(program, [count for _, count in operations], fake)
    assert totals == tuple(once * count + reading for once, count in operations)


class Events:
    """A clock as a device has it: marks mean nothing until the device is asked, once, at the end."""

    def __init__(self, fake: FakeInstrument) -> None:
        self._fake = fake
        self.asked = 0

    def mark(self) -> list[int]:
        return [self._fake.time]

    def nanoseconds(self, marks: Sequence[list[int]]) -> Sequence[int]:
        self.asked += 1
        self._fake.advance(10**6)
        return [moment for (moment,) in marks]


@pytest.mark.parametrize("stepped", [True, False])
def test_the_device_is_asked_once_when_the_block_is_over(stepped: bool) -> None:
    fake = FakeInstrument()
    clock = Events(fake)
    program = fake.step({"forward": 7}) if stepped else fake.operations({"forward": 7})
    assert run_block(program, (5,) * len(program.layout.phases), clock)[-1] == 35
    assert clock.asked == 1


def spying(seen: list[Any], look: Callable[[], Any], *, stepped: bool, raises: bool = False) -> Program:
    """A program that notes what it sees in every call."""

    def call() -> None:
        seen.append(look())
        if raises:
            raise RuntimeError("in the middle")

    if stepped:
        layout = Layout(phases=("step", "forward"), primary="step", whole="step")
        return Program(layout=layout, calls=(call,), prepare=call)
    return Program(layout=Layout(phases=("forward",), primary="forward"), calls=(call,))


@pytest.fixture
def restored_gc() -> Iterator[None]:
    was = gc.isenabled()
    yield
    (gc.enable if was else gc.disable)()


@pytest.mark.usefixtures("restored_gc")
@pytest.mark.parametrize("stepped", [True, False])
@pytest.mark.parametrize("raises", [True, False])
@pytest.mark.parametrize("enabled", [True, False])
def test_no_collection_falls_into_a_block(stepped: bool, raises: bool, enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    seen: list[bool] = []
    program = spying(seen, gc.isenabled, stepped=stepped, raises=raises)
    try:
        run_block(program, (3,) * len(program.layout.phases), FakeInstrument())
    except RuntimeError:
        assert raises
    assert seen
    assert not any(seen)
    assert gc.isenabled() is enabled


@pytest.mark.parametrize("stepped", [True, False])
@pytest.mark.parametrize("raises", [True, False])
def test_the_context_is_around_the_block_and_outside_the_clock(stepped: bool, raises: bool) -> None:
    fake, inside, log = FakeInstrument(), [False], []

    @contextmanager
    def context() -> Iterator[None]:
        fake.advance(1000)
        inside[0] = True
        log.append("enter")
        try:
            yield
        finally:
            inside[0] = False
            log.append("leave")
            fake.advance(1000)

    seen: list[bool] = []
    plain = spying(seen, lambda: inside[0], stepped=stepped, raises=raises)
    program = Program(layout=plain.layout, calls=plain.calls, prepare=plain.prepare, context=context)
    totals: tuple[int, ...] = (0,)
    try:
        totals = run_block(program, (3,) * len(program.layout.phases), fake)
    except RuntimeError:
        assert raises
    assert all(seen)
    assert log == ["enter", "leave"], "once for all iterations"
    assert set(totals) == {0}


@steady
@given(phases, st.integers(0, 100), st.integers(2, 50))
def test_the_cost_of_the_clock_is_that_of_an_empty_step(
    durations: dict[str, int], reading: int, iterations: int
) -> None:
    fake = FakeInstrument(reading=reading)
    cost = clock_cost(fake.step(durations, prepare=5), fake, iterations=iterations)
    assert cost == pytest.approx(reading * 1e-9)


def test_the_cost_of_the_clock_is_shared_by_a_batch() -> None:
    fake = FakeInstrument(reading=100)
    assert clock_cost(fake.operations({"a": 10**6, "b": 10**6}), fake, iterations=200) == pytest.approx(1e-9)


def test_the_programs_own_calls_do_not_run_for_it() -> None:
    seen: list[bool] = []
    program = spying(seen, lambda: True, stepped=True)
    clock_cost(program, FakeInstrument())
    assert seen == []


def test_a_layout_with_its_whole_last_costs_the_same() -> None:
    fake = FakeInstrument(reading=10)
    first = fake.step({"forward": 1, "backward": 1})
    last = Program(
        layout=replace(first.layout, phases=("forward", "backward", "step")),
        calls=first.calls,
        prepare=first.prepare,
    )
    assert clock_cost(first, fake) == clock_cost(last, fake) > 0.0
