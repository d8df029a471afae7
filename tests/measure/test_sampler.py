"""The sampling loop: exactly the scripted times, and nothing else inside the clock."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.instruments.fake import FakeDevice, FakeInstrument
from stepmark.measure.profiler import around_phases
from stepmark.measure.program import Call, Program
from stepmark.measure.sampler import clock_cost, run_block, take_block
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
@pytest.mark.parametrize("whole_first", [True, False])
def test_steps_timed_whole_and_steps_taken_apart_take_turns(
    whole_first: bool, script: list[tuple[int, int]]
) -> None:
    """Iterations differ here, so that it shows which of them went where: in the first pair one kind comes
    first, in the second the other."""
    script = script[: len(script) // 2 * 2]
    fake = FakeInstrument()
    forward, backward = iter([f for f, _ in script]), iter([b for _, b in script])
    program = fake.step({"forward": lambda: next(forward), "backward": lambda: next(backward)})
    pairs = len(script) // 2
    taken = take_block(program, (pairs,) * 3, fake, whole_first=whole_first).nanoseconds
    totals = dict(zip(program.layout.phases, taken, strict=True))
    places = [2 * pair + (whole_first != (pair % 2 == 0)) for pair in range(pairs)]
    whole = [script[place] for place in places] if pairs > 1 else script[:1]
    apart = [one for place, one in enumerate(script) if place not in places] if pairs > 1 else script[:1]
    assert totals["step"] == sum(f + b for f, b in whole)
    assert totals["forward"] == sum(f for f, _ in apart)
    assert totals["backward"] == sum(b for _, b in apart)


def test_a_device_with_a_queue_begins_with_the_whole() -> None:
    device = FakeDevice()
    script = iter([(10, 100)] * 2 + [(30, 300)] * 2 + [(10, 100)] * 2 + [(30, 300)] * 2)
    program = device.step({"f": lambda: next(script), "b": lambda: next(script)})
    taken = take_block(program, (2,) * 3, device, whole_first=False)
    assert taken.host[0] == 2 * (10 + 10), "the first of each pair"


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

    queues = False

    def begin(self) -> None: ...

    def mark(self) -> list[int]:
        return [self._fake.time]

    def host_nanoseconds(self, marks: Sequence[list[int]]) -> Sequence[int]:
        raise AssertionError(marks)

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


def test_ten_times_the_work_in_a_call_share_the_cost_of_the_clock() -> None:
    fake = FakeInstrument(reading=100)
    inner = fake.operations({"a": 10**6})
    program = dataclasses.replace(inner, calls=(TenTimes(inner.calls[0]),))
    assert clock_cost(program, fake) == pytest.approx(0.5e-9), "not yet known"
    program.iterate()
    assert clock_cost(program, fake) == pytest.approx(0.05e-9)


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


asking = st.integers(0, 10**6)
queued = st.lists(st.tuples(asking, asking), min_size=1, max_size=3)


def device_step(device: FakeDevice, phases: list[tuple[int, int]]) -> Program:
    return device.step({f"phase{i}": spent for i, spent in enumerate(phases)})


class Patient(FakeDevice):
    """Counts how often the host waits."""

    waits = 0

    def wait(self) -> None:
        self.waits += 1
        super().wait()


@steady
@given(queued, counts, st.booleans(), st.integers(0, 3), st.integers(0, 5000))
def test_a_device_is_waited_for_before_a_block_and_after_it_and_not_inside(
    phases: list[tuple[int, int]], iterations: int, in_turn: bool, lead_in: int, latency: int
) -> None:
    device = Patient(latency=latency)
    program = device_step(device, phases)
    program.iterate()
    sizes = (iterations,) * len(program.layout.phases)
    block = take_block(program, sizes, device, lead_in=lead_in, in_turn=in_turn)
    assert device.waits == 2
    asked = iterations * sum(host for host, _ in phases)
    assert block.host[0] == sum(block.host[1:]) == asked


@steady
@given(queued, counts, st.booleans())
def test_device_times_are_never_less_than_the_work_and_phases_make_up_their_whole(
    phases: list[tuple[int, int]], iterations: int, in_turn: bool
) -> None:
    device = FakeDevice(latency=2000)
    program = device_step(device, phases)
    block = take_block(program, (iterations,) * len(program.layout.phases), device, in_turn=in_turn)
    work = [iterations * working for _, working in phases]
    assert all(seen >= true for seen, true in zip(block.nanoseconds[1:], work, strict=True))
    assert block.nanoseconds[0] >= sum(work)
    if iterations == 1 and not in_turn:
        assert block.nanoseconds[0] == sum(block.nanoseconds[1:])


def test_a_device_that_is_the_slower_one_falls_behind_and_one_that_waits_does_not() -> None:
    slow = FakeDevice(latency=5000)
    block = take_block(slow.operations({"call": (10_000, 50_000)}), (20,), slow, lead_in=2)
    assert block.host == (200_000,)
    assert block.nanoseconds == (1_000_000,), "the lead-in has filled the queue"
    assert block.lag == (10_000 + 22 * 40_000,)
    waiting = FakeDevice(latency=5000)
    block = take_block(waiting.operations({"call": (50_000, 10_000)}), (20,), waiting, lead_in=2)
    assert block.host == block.nanoseconds == (1_000_000,)
    assert block.lag == (10_000,), "the last kernel alone"


def test_a_lead_in_is_outside_the_clock() -> None:
    fake = FakeInstrument()
    block = take_block(fake.step({"forward": 7}, prepare=100), (1, 1), fake, lead_in=3)
    assert block.nanoseconds == (7, 7)
    assert (block.host, block.lag) == ((), ())
    assert fake.time == 4 * 107


@steady
@given(st.lists(st.tuples(st.integers(1, 10**6), counts), min_size=1, max_size=3), st.integers(0, 10**6))
def test_cold_calls_are_timed_one_by_one_with_the_flush_outside(
    operations: list[tuple[int, int]], flushing: int
) -> None:
    device = FakeDevice()
    flushes: list[int] = []

    def flush() -> None:
        flushes.append(device.time)
        device.free = max(device.free, device.time) + flushing

    program = dataclasses.replace(
        device.operations({f"op{i}": (0, once) for i, (once, _) in enumerate(operations)}), flush=flush
    )
    block = take_block(program, [count for _, count in operations], device)
    assert block.nanoseconds == tuple(once * count for once, count in operations)
    assert len(flushes) == sum(count for _, count in operations)


@pytest.mark.parametrize("iterations", [1, 3])
def test_a_cold_step_is_flushed_before_every_iteration(iterations: int) -> None:
    log: list[str] = []
    program = Program(
        layout=Layout(phases=("step", "f", "b"), primary="step", whole="step"),
        calls=(lambda: log.append("f"), lambda: log.append("b")),
        prepare=lambda: log.append("prepare"),
        flush=lambda: log.append("flush"),
    )
    take_block(program, (iterations,) * 3, FakeDevice())
    assert log == ["prepare", "flush", "f", "b"] * runs_of(iterations)


class TenTimes:
    """From its second call on: the first makes it ready, as a capture does."""

    def __init__(self, call: Call) -> None:
        self._call, self.times = call, 1

    def __call__(self) -> None:
        self._call()
        self.times = 10


@pytest.mark.parametrize("watched", [False, True])
def test_a_call_that_does_it_ten_times_is_timed_as_one(watched: bool) -> None:
    device = FakeDevice(latency=5000)
    inner = device.operations({"one": (1000, 50_000), "other": (1000, 30_000)})
    program = dataclasses.replace(inner, calls=(TenTimes(inner.calls[0]), inner.calls[1]))
    if watched:
        program = around_phases(program, lambda _, call: lambda: call())
    assert take_block(program, (1, 1), device).nanoseconds == (51_000, 30_000), "what made it ready is not"
    assert program.times == (10, 1)
    block = take_block(program, (4, 4), device, lead_in=1)
    assert block.nanoseconds == (4 * 5_000, 4 * 30_000)
    assert block.host == (4 * 100, 4 * 1000)
    assert block.lag[0] > 100_000, "of the calls as they were made"
