"""A lane in scripted time: built, warmed up until steady, blocks, flags put back."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TypeVar

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.instruments.fake import FakeDevice, FakeInstrument
from stepmark.measure.failures import LaneStopped
from stepmark.measure.lane import FIRST, HostedLane
from stepmark.measure.program import Program
from stepmark.measure.protocol import BlockDone, Built, Event, FlagsChanged, Spoiled, Warmed
from stepmark.measure.steady import LEAST
from stepmark.records.outcome import Cause, Outcome, Stage
from stepmark.records.sample import unpack
from tests.measure.scripted import MS, QUICK, hosted, then
from tests.support.properties import steady

E = TypeVar("E", bound=Event)


def only(kind: type[E], events: object) -> E:
    assert isinstance(events, tuple | list)
    (found,) = [event for event in events if isinstance(event, kind)]
    return found


def warmed_up(lane: HostedLane) -> Warmed:
    lane.build()
    return only(Warmed, lane.warm_up())


def stopped(act: Callable[[], object]) -> LaneStopped:
    with pytest.raises(LaneStopped) as caught:
        act()
    return caught.value


# ── build ───────────────────────────────────────────────────────────────────────────────────────────


def test_building_binds_and_runs_nothing() -> None:
    fake, bound = FakeInstrument(reading=10), []

    def bind() -> Program:
        bound.append(True)
        return fake.step({"forward": lambda: pytest.fail("ran"), "backward": 1}, prepare=5)

    built = only(Built, hosted(fake, bind, variant="dense").build())
    assert bound == [True]
    assert built.variant == "dense"
    assert built.layout.phases == ("step", "forward", "backward")


def test_the_clocks_cost_is_known_when_the_lane_is_warm() -> None:
    fake = FakeInstrument(reading=10)
    lane = hosted(fake, lambda: fake.step({"forward": 1000, "backward": 1000}))
    lane.build()
    warmed = only(Warmed, lane.warm_up())
    assert warmed.clock_seconds == pytest.approx(10e-9), "one reading between a step's first and last"


@pytest.mark.parametrize("error", [ValueError("no such layer"), SystemExit(2), KeyboardInterrupt()])
def test_whatever_building_raises_stops_the_lane(error: BaseException) -> None:
    def bind() -> Program:
        raise error

    failure = stopped(hosted(FakeInstrument(), bind).build).failure
    assert failure.stage is Stage.BUILD
    assert failure.outcome is Outcome.CRASHED
    assert type(error).__name__ in failure.message


# ── warm-up ─────────────────────────────────────────────────────────────────────────────────────────


@steady
@given(st.integers(MS // 50, 3 * MS))
def test_a_lane_that_is_steady_at_once_warms_up_for_the_least_time(once: int) -> None:
    assume(2 * MS / once % 1 != 0.5)  # a half may go either way
    fake = FakeInstrument()
    warmed = warmed_up(hosted(fake, lambda: fake.step({"forward": once})))
    iterations = warmed.iterations[0]
    assert iterations == max(1, round(2 * MS / once)), "what comes nearest to half of 4 ms"
    assert warmed.iterations == (iterations, iterations)
    assert warmed.warmup.settled
    assert set(unpack(warmed.warmup.nanoseconds)) == {iterations * once}
    assert list(unpack(warmed.warmup.first)) == [once] * FIRST
    block, least = 2 * iterations * once, round(QUICK.warmup_seconds * 1e9)
    assert least <= fake.time < least + block + LEAST * block


def test_it_goes_on_until_the_blocks_have_stopped_getting_faster() -> None:
    fake = FakeInstrument()
    script = then(*[100 * MS] * FIRST, 80 * MS, 64 * MS, 51 * MS, 41 * MS, 33 * MS, 30 * MS)
    settings = replace(QUICK, warmup_cap=60.0)
    warmed = warmed_up(hosted(fake, lambda: fake.step({"forward": script}), settings))
    blocks = [block // MS for block in unpack(warmed.warmup.nanoseconds)]
    assert blocks == [80, 64, 51, 41, 33, 30, 30, 30, 30]
    assert warmed.warmup.settled


def test_nothing_of_the_warm_up_is_lost() -> None:
    fake = FakeInstrument()
    script = then(900 * MS, 50 * MS, 50 * MS, 9 * MS, 8 * MS, 7 * MS)
    warmed = warmed_up(hosted(fake, lambda: fake.step({"forward": script}), replace(QUICK, warmup_cap=60.0)))
    assert list(unpack(warmed.warmup.first)) == [900 * MS, 50 * MS, 50 * MS]
    assert list(unpack(warmed.warmup.nanoseconds))[:3] == [9 * MS, 8 * MS, 7 * MS]
    assert sum(unpack(warmed.warmup.first)) + sum(unpack(warmed.warmup.nanoseconds)) == fake.time


def falling(start: int, factor: float) -> Callable[[], int]:
    level = start / factor

    def fall() -> int:
        nonlocal level
        level *= factor
        return round(level)

    return fall


def test_a_lane_that_keeps_getting_faster_is_capped_and_labelled() -> None:
    fake = FakeInstrument()
    script = falling(10 * MS, 0.9)
    warmed = warmed_up(hosted(fake, lambda: fake.step({"forward": script}), replace(QUICK, warmup_cap=0.07)))
    assert warmed.warmup.settled is False
    assert fake.time >= 70 * MS
    assert fake.time - unpack(warmed.warmup.nanoseconds)[-1] < 70 * MS, "no block begins after the cap"


def test_a_step_longer_than_the_cap_still_gets_its_least_blocks() -> None:
    fake = FakeInstrument()
    warmed = warmed_up(hosted(fake, lambda: fake.step({"forward": 1000 * MS})))
    assert len(unpack(warmed.warmup.nanoseconds)) == LEAST
    assert warmed.warmup.settled


def test_the_block_size_is_fixed_by_what_the_lane_takes_when_it_is_warm() -> None:
    fake = FakeInstrument()
    script = then(*[8 * MS] * FIRST, *[8 * MS] * 2, MS)
    warmed = warmed_up(
        hosted(fake, lambda: fake.step({"forward": script}), replace(QUICK, warmup_seconds=0.1))
    )
    assert warmed.warmup.iterations == 1, "of the blocks of the warm-up itself"
    assert warmed.iterations == (2, 2)


def test_the_very_first_iteration_does_not_count_for_the_block_size() -> None:
    fake = FakeInstrument()
    script = then(900 * MS, MS // 4, MS // 2, MS // 4)
    warmed = warmed_up(hosted(fake, lambda: fake.step({"forward": script}), replace(QUICK, warmup_cap=60.0)))
    assert warmed.warmup.iterations == 8, "2 ms at the 0.25 ms of the faster of the second and the third"


def test_lanes_that_do_the_same_get_blocks_of_one_size_on_a_moody_machine() -> None:
    def moody(mood: int) -> Callable[[], int]:
        turns = count()
        return lambda: MS if next(turns) % 5 == 0 else mood

    sizes = set()
    for mood in (MS, 3 * MS // 2, 2 * MS):
        fake = FakeInstrument()
        script = moody(mood)
        sizes.add(warmed_up(hosted(fake, partial(fake.step, {"forward": script}))).iterations)
    assert sizes == {(2, 2)}


def test_operations_have_counts_of_their_own() -> None:
    fake = FakeInstrument()
    warmed = warmed_up(hosted(fake, lambda: fake.operations({"quick": MS // 2, "slow": 5 * MS})))
    assert warmed.iterations == (4, 1)
    assert set(unpack(warmed.warmup.nanoseconds)) == {7 * MS}


def test_an_error_in_the_warm_up_stops_the_lane() -> None:
    fake = FakeInstrument()
    lane = hosted(fake, lambda: fake.step({"forward": lambda: 1 // 0}))
    lane.build()
    failure = stopped(lane.warm_up).failure
    assert (failure.stage, failure.cause) == (Stage.WARMUP, Cause.EXCEPTION)
    assert "ZeroDivisionError" in failure.message


# ── blocks ──────────────────────────────────────────────────────────────────────────────────────────


def counting(fake: FakeInstrument, once: int, log: list[str]) -> Program:
    """A step that says what it does."""

    def forward() -> int:
        log.append("forward")
        return once

    def prepare() -> None:
        log.append("prepare")

    program = fake.step({"forward": forward})
    return Program(layout=program.layout, calls=program.calls, prepare=prepare)


@pytest.mark.parametrize("lead_in", [False, True])
@pytest.mark.parametrize(
    ("once", "iterations", "runs"), [(MS // 2, 4, 8), (MS, 2, 4), (2 * MS, 1, 1), (9 * MS, 1, 1)]
)
def test_a_lead_in_is_an_iteration_outside_the_clock(
    once: int, iterations: int, runs: int, *, lead_in: bool
) -> None:
    fake = FakeInstrument()
    log: list[str] = []
    lane = hosted(fake, lambda: counting(fake, once, log))
    warmed_up(lane)
    log.clear()
    begin = fake.time
    done = only(BlockDone, lane.block(3, lead_in=lead_in))
    runs += lead_in
    assert log == ["prepare", "forward"] * runs + ["prepare"], "nothing is left behind for the neighbours"
    assert done == BlockDone(variant="mine", round=3, nanoseconds=(iterations * once,) * 2)
    assert fake.time - begin == runs * once


def test_the_whole_and_what_is_taken_apart_come_first_in_turn_from_block_to_block() -> None:
    """The first iteration of a block takes longer, which is to fall on both alike."""
    fake = FakeInstrument()
    first: list[int] = []
    lane = hosted(fake, lambda: fake.step({"forward": lambda: first.pop() if first else MS}))
    assert warmed_up(lane).iterations == (2, 2)
    longer = []
    for number in range(4):
        first.append(5 * MS)
        step, forward = only(BlockDone, lane.block(number)).nanoseconds
        assert {step, forward} == {6 * MS, 2 * MS}
        longer.append("whole" if step > forward else "apart")
    assert longer == ["whole", "apart", "whole", "apart"]


# ── renewal ─────────────────────────────────────────────────────────────────────────────────────────


class Heavy:
    """Something that takes memory, and refers to itself, so that only the collector frees it."""

    def __init__(self) -> None:
        self.own = self


def test_a_lane_is_gone_before_it_is_built_anew() -> None:
    fake = FakeInstrument()
    living: weakref.WeakSet[Heavy] = weakref.WeakSet()
    alive_at_build: list[int] = []

    def bind() -> Program:
        alive_at_build.append(len(living))
        heavy = Heavy()
        living.add(heavy)
        return fake.step({"forward": lambda heavy=heavy: MS})  # type: ignore[misc]

    lane = hosted(fake, bind)
    warmed = warmed_up(lane)
    lane.block(0)
    assert lane.renew(1) == ()
    done = only(BlockDone, lane.block(1))
    assert alive_at_build == [0, 0]
    assert done.nanoseconds == tuple(n * MS for n in warmed.iterations), "blocks keep their size"


@pytest.mark.parametrize(("once", "runs"), [(5 * MS // 4, 3), (MS // 4 + 1, 12), (50 * MS, 2)])
def test_a_new_instance_settles_before_it_is_timed(once: int, runs: int) -> None:
    fake = FakeInstrument()
    log: list[str] = []
    lane = hosted(fake, lambda: counting(fake, once, log))
    warmed_up(lane)
    log.clear()
    lane.renew(4)
    assert log == ["prepare", "forward"] * runs + ["prepare"]


def test_what_a_new_instance_asked_of_a_device_is_done_when_its_turn_ends() -> None:
    device = FakeDevice(latency=10)
    lane = hosted(device, lambda: device.step({"forward": (MS // 100, 20 * MS)}))
    warmed_up(lane)
    begin = device.time
    lane.renew(4)
    assert device.free <= device.time + device.latency
    assert device.time - begin < 3 * 20 * MS, (
        "asking is quick: it would not end before hundreds were asked for"
    )


def test_a_lane_that_cannot_be_built_anew_stops_there() -> None:
    fake = FakeInstrument()
    times = count()

    def bind() -> Program:
        if next(times) == 1:
            raise MemoryError
        return fake.step({"forward": MS})

    lane = hosted(fake, bind)
    warmed_up(lane)
    failure = stopped(lambda: lane.renew(7)).failure
    assert (failure.stage, failure.outcome) == (Stage.BUILD, Outcome.OUT_OF_MEMORY)


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("error", [ValueError("the fiftieth step"), MemoryError(), SystemExit(0)])
def test_an_error_in_a_block_stops_the_lane(error: BaseException) -> None:
    fake = FakeInstrument()
    armed: list[bool] = []

    def forward() -> int:
        if armed:
            raise error
        return MS

    lane = hosted(fake, lambda: fake.step({"forward": forward}))
    warmed_up(lane)
    lane.block(0)
    armed.append(True)
    failure = stopped(lambda: lane.block(1)).failure
    assert failure.stage is Stage.ROUNDS
    assert type(error).__name__ in failure.message
    assert (failure.outcome is Outcome.OUT_OF_MEMORY) == isinstance(error, MemoryError)


# ── flags ───────────────────────────────────────────────────────────────────────────────────────────


def flag_changer(fake: FakeInstrument, when: list[str], *, raises: bool = False) -> HostedLane:
    """A lane that turns `grad` off wherever `when` says so at that time."""

    def change(moment: str) -> None:
        if moment in when:
            fake.settings["grad"] = "False"
            if raises:
                raise ValueError("after the change")

    def bind() -> Program:
        change("build")
        return fake.step({"forward": forward})

    def forward() -> int:
        change("forward")
        return MS

    return hosted(fake, bind)


def changes(events: object) -> list[tuple[str, str, str, int | None]]:
    assert isinstance(events, tuple | list)
    seen = [event.change for event in events if isinstance(event, FlagsChanged)]
    return [(change.name, change.before, change.after, change.round) for change in seen]


def test_a_lane_that_leaves_the_flags_alone_reports_none() -> None:
    fake = FakeInstrument()
    lane = flag_changer(fake, [])
    assert changes([*lane.build(), *lane.warm_up(), *lane.block(0)]) == []


def test_flags_are_reported_and_put_back_after_every_verb() -> None:
    fake, when = FakeInstrument(), ["build"]
    lane = flag_changer(fake, when)
    assert changes(lane.build()) == [("grad", "True", "False", None)]
    assert fake.settings == {"grad": "True"}
    when[:] = ["forward"]
    assert changes(lane.warm_up()) == [("grad", "True", "False", None)]
    assert fake.settings == {"grad": "True"}
    for number in (0, 1):
        assert changes(lane.block(number)) == [("grad", "True", "False", number)]
        assert fake.settings == {"grad": "True"}
    when.clear()
    assert changes(lane.block(2)) == []


@pytest.mark.parametrize("moment", ["build", "warm-up", "block"])
def test_flags_are_put_back_also_by_a_lane_that_fails(moment: str) -> None:
    fake = FakeInstrument()
    when: list[str] = []
    lane = flag_changer(fake, when, raises=True)
    verbs: list[tuple[str, Callable[[], object]]] = [
        ("build", lane.build),
        ("warm-up", lane.warm_up),
        ("block", lambda: lane.block(0)),
    ]
    for name, verb in verbs:
        if name != moment:
            verb()
            continue
        when[:] = ["build", "forward"]
        stopped(verb)
        break
    assert fake.settings == {"grad": "True"}


# ── on a device ─────────────────────────────────────────────────────────────────────────────────────


def device_lane(phases: dict[str, tuple[int, int]], *, latency: int = 5000) -> tuple[FakeDevice, HostedLane]:
    device = FakeDevice(reading=1000, latency=latency)
    lane = hosted(device, lambda: device.step(phases))
    return device, lane


def test_blocks_on_a_device_say_what_the_host_took_and_how_far_it_was_ahead() -> None:
    _, lane = device_lane({"forward": (MS // 10, MS), "backward": (MS // 10, MS)})
    warmed_up(lane)
    done = only(BlockDone, lane.block(0))
    assert len(done.host) == len(done.lag) == len(done.nanoseconds) == 3
    assert done.host[0] < done.nanoseconds[0]
    assert done.lag[0] > MS


@pytest.mark.parametrize("lead_in", [False, True])
@pytest.mark.parametrize(("working", "least"), [(MS // 50, 5), (MS, 1), (30 * MS, 0)])
def test_a_block_on_a_device_always_has_a_lead_in_unless_its_step_is_long(
    working: int, least: int, lead_in: bool
) -> None:
    device, lane = device_lane({"forward": (1000, working)})
    warmed = warmed_up(lane)
    device.wait()
    before, whole = device.time, device.free
    lane.block(0, lead_in=lead_in)
    timed = (1 if working >= 20 * MS else 2) * warmed.iterations[0]
    assert round((device.free - whole) / working) == timed + least
    assert device.time > before


def test_blocks_on_a_device_are_longer_and_count_the_flush() -> None:
    def iterations(flush_seconds: float) -> int:
        device = FakeDevice()
        program = device.operations({"call": (1000, MS // 10)})
        lane = hosted(device, lambda: dataclasses.replace(program, flush_seconds=flush_seconds))
        return warmed_up(lane).iterations[0]

    assert iterations(0.0) == pytest.approx(4 * QUICK.block_seconds / 1e-4, rel=0.05)
    assert iterations(3e-4) == pytest.approx(4 * QUICK.block_seconds / 4e-4, rel=0.05)


# ── weights ─────────────────────────────────────────────────────────────────────────────────────────


def test_weights_are_looked_at_before_a_lane_is_built_anew_and_at_its_end() -> None:
    fake, ruined = FakeInstrument(), [("weight",), (), ("weight", "bias")]

    def bind() -> Program:
        program = fake.step({"forward": MS})
        return dataclasses.replace(program, not_finite=lambda: ruined.pop(0))

    lane = hosted(fake, bind)
    warmed_up(lane)
    assert only(Spoiled, lane.renew(4)) == Spoiled(variant="mine", round=4, weights=("weight",))
    assert lane.renew(8) == ()
    assert only(Spoiled, lane.end(9)) == Spoiled(variant="mine", round=9, weights=("weight", "bias"))
    assert ruined == []


def test_where_no_weight_changes_none_is_looked_at() -> None:
    fake = FakeInstrument()
    lane = hosted(fake, lambda: fake.step({"forward": MS}))
    warmed_up(lane)
    assert lane.end(3) == ()
