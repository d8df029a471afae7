"""The event clock: origin, pool and two times by a scripted device; the rest on a real one."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch

from stepmark.instruments.event_clock import EventInstrument
from stepmark.instruments.torch_clock import SynchronisedInstrument, TorchInstrument, instrument_for
from stepmark.measure.program import Program
from stepmark.measure.sampler import Block, clock_cost, take_block
from stepmark.records.sample import Layout
from stepmark.stats.queueing import LATENCY
from stepmark.suites.selftest import cycles_a_second, spin


class ScriptedEvent:
    """Stamps the time of a scripted device, in milliseconds, when it is recorded."""

    made = 0
    now = 0.0

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing
        ScriptedEvent.made += 1
        self.stream: object = None
        self.stamp = -1.0

    def record(self, stream: object) -> None:
        self.stream = stream
        ScriptedEvent.now += 0.5
        self.stamp = ScriptedEvent.now

    def elapsed_time(self, other: ScriptedEvent) -> float:
        return other.stamp - self.stamp


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    seen: list[Any] = []
    monkeypatch.setattr(ScriptedEvent, "made", 0)
    monkeypatch.setattr(ScriptedEvent, "now", 0.0)
    monkeypatch.setattr(torch.cuda, "Event", ScriptedEvent)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: seen.append(("synchronize", device)))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: f"stream of {device}")
    ticks = iter(range(1000, 10**9, 700))
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(ticks))
    return seen


def test_every_device_has_its_clock() -> None:
    assert type(instrument_for("cpu")) is TorchInstrument
    assert isinstance(instrument_for("cuda"), EventInstrument)
    assert isinstance(instrument_for("cuda:1"), EventInstrument)
    assert type(instrument_for("xpu")) is SynchronisedInstrument
    assert [instrument_for(name).queues for name in ("cpu", "cuda", "xpu")] == [False, True, False]


def test_both_times_are_counted_from_the_blocks_beginning(log: list[Any]) -> None:
    clock = EventInstrument("cuda:1")
    clock.begin()
    marks = [clock.mark(), clock.mark()]
    assert log == [("synchronize", "cuda:1")], "nothing is waited for between marks"
    assert clock.nanoseconds(marks) == [500_000, 1_000_000]
    assert clock.host_nanoseconds(marks) == [700, 1400]
    assert log == [("synchronize", "cuda:1")] * 2
    assert {event.stream for event, _ in marks} == {"stream of cuda:1"}


@pytest.mark.usefixtures("log")
def test_events_are_used_anew_in_the_next_block() -> None:
    clock = EventInstrument("cuda")
    for _ in range(3):
        clock.begin()
        clock.nanoseconds([clock.mark() for _ in range(5)])
    assert ScriptedEvent.made == 6, "the block's first event and five marks"


@pytest.mark.usefixtures("log")
def test_moments_are_whole_nanoseconds() -> None:
    clock = EventInstrument("cuda")
    clock.begin()
    assert all(isinstance(moment, int) for moment in clock.nanoseconds([clock.mark()]))


CUDA = torch.device("cuda")


def batch(call: Any, count: int, *, lead_in: int = 0) -> Block:
    """The fastest of some: others may use the device meanwhile."""
    program = Program(layout=Layout(phases=("call",), primary="call"), calls=(call,))
    clock = EventInstrument("cuda")
    return min(take_block(program, (count,), clock, lead_in=lead_in) for _ in range(15))


@pytest.mark.gpu
@pytest.mark.parametrize("microseconds", [200, 2000])
def test_a_kernel_of_known_length_is_measured_within_two_per_cent(microseconds: int) -> None:
    cycles = round(cycles_a_second(CUDA) * microseconds * 1e-6)
    count = max(1, 4_000 // microseconds)
    block = batch(lambda: spin(CUDA, cycles), count, lead_in=1)
    assert block.nanoseconds[0] / count == pytest.approx(microseconds * 1e3, rel=0.02)


@pytest.mark.gpu
def test_a_device_with_work_lags_behind_the_host_and_one_that_waits_does_not() -> None:
    cycles = round(cycles_a_second(CUDA) * 100e-6)
    busy = batch(lambda: spin(CUDA, cycles), 20)
    assert busy.lag[0] > 0.5 * busy.nanoseconds[0]
    assert busy.host[0] < 0.5 * busy.nanoseconds[0]

    def slow_host() -> None:
        end = time.perf_counter_ns() + 100_000
        spin(CUDA, 1000)
        while time.perf_counter_ns() < end:
            pass

    waiting = batch(slow_host, 20)
    assert abs(waiting.lag[0]) < LATENCY * 1e9
    assert waiting.host[0] == pytest.approx(waiting.nanoseconds[0], rel=0.05)


@pytest.mark.gpu
def test_the_whole_is_its_phases_and_the_clock_costs_little() -> None:
    cycles = round(cycles_a_second(CUDA) * 500e-6)
    program = Program(
        layout=Layout(phases=("step", "a", "b"), primary="step", whole="step"),
        calls=(lambda: spin(CUDA, cycles), lambda: spin(CUDA, 2 * cycles)),
        prepare=lambda: None,
    )
    clock = EventInstrument("cuda")
    for in_turn in (False, True):
        block = take_block(program, (3 if in_turn else 1,) * 3, clock, lead_in=1, in_turn=in_turn)
        assert block.nanoseconds[0] == pytest.approx(sum(block.nanoseconds[1:]), rel=0.01)
        assert block.nanoseconds[2] == pytest.approx(2 * block.nanoseconds[1], rel=0.02)
    assert clock_cost(program, clock) < 100e-6
