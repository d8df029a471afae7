"""Watching lanes: around blocks and never inside a clock; thinned, and told with the launch."""

from __future__ import annotations

import dataclasses
from functools import partial
from itertools import accumulate
from math import inf
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.instruments.fake import Duration, FakeInstrument
from stepmark.measure.assemble import Ended, Timing, lane_watch, launch_trial
from stepmark.measure.assignment import LaunchAssignment
from stepmark.measure.failures import LaneStopped
from stepmark.measure.lane import HostedLane
from stepmark.measure.launch import conduct
from stepmark.measure.one_after_another import one_after_another
from stepmark.measure.protocol import BlockDone, Entered, Event, Paced, RoundBegan, Spoiled
from stepmark.measure.watch import READINGS, LaneSights, ProcessSights, Sight, Unwatched
from stepmark.records.card import CardReading
from stepmark.records.case import Case, Cell
from stepmark.records.outcome import Stage
from stepmark.records.sample import unpack
from stepmark.records.settings import Isolation, Settings
from stepmark.records.source import BuiltinSource
from stepmark.records.trial import LaneWatch, LaunchActivity, LaunchTrial
from tests.measure.scripted import MS, QUICK, ScriptedLane
from tests.support.properties import steady

CELL = Cell(suite="s")
MIB = 1 << 20


class SlowWatch:
    """Takes a second for every reading, and has a page more, and a frame compiled, every time."""

    def __init__(self, instrument: FakeInstrument) -> None:
        self._instrument = instrument
        self.compiled = 0
        self.bytes = 0
        self.readings = 0

    def compilations(self) -> int:
        self._instrument.advance(1000 * MS)
        self.compiled += 1
        return self.compiled

    def memory(self) -> int | None:
        self._instrument.advance(1000 * MS)
        self.readings += 1
        self.bytes += 4096
        return self.bytes


def watched_lane(settings: Settings = QUICK) -> tuple[HostedLane, SlowWatch]:
    fake = FakeInstrument()
    watch = SlowWatch(fake)
    bind = lambda: fake.step({"forward": MS})  # noqa: E731
    lane = HostedLane("mine", bind, fake, settings, sights=ProcessSights(watch), now=fake.now)
    lane.build()
    lane.warm_up()
    return lane, watch


def block(lane: HostedLane, number: int) -> BlockDone:
    (done,) = lane.block(number, lead_in=True)
    assert isinstance(done, BlockDone)
    return done


def test_watching_is_outside_the_clock() -> None:
    lane, _ = watched_lane()
    blocks = [block(lane, number) for number in range(3)]
    assert {done.nanoseconds for done in blocks} == {(2 * MS, 2 * MS)}, "two iterations of 1 ms, nothing else"
    assert [done.compilations for done in blocks] == [1, 1, 1]


@steady
@given(st.floats(0.001, 10.0), st.integers(1, 200))
def test_memory_is_read_around_a_few_blocks_only(round_seconds: float, num_blocks: int) -> None:
    lane, watch = watched_lane(replace(QUICK, round_seconds=round_seconds))
    before = watch.readings
    read = [done for number in range(num_blocks) if (done := block(lane, number)).grown is not None]
    spent, interval = num_blocks * 0.002, round_seconds / READINGS
    assert read[0].round == 0
    assert len(read) <= min(num_blocks, spent / interval + 1)
    assert len(read) >= min(num_blocks, spent // (interval + 0.002)), "and not fewer than it may"
    assert watch.readings - before == 2 * len(read)
    assert all(done.own == 4096 for done in read)


def test_growth_is_counted_from_one_reading_to_the_next_and_not_over_a_renewal() -> None:
    lane, watch = watched_lane(replace(QUICK, round_seconds=1e-6))
    assert block(lane, 0).grown == 2 * 4096, "since it settled"
    watch.bytes += MIB
    assert block(lane, 1).grown == MIB + 2 * 4096, "whoever did it"
    watch.bytes += MIB
    lane.renew(2)
    assert block(lane, 2).grown == 2 * 4096


def test_all_lanes_of_a_process_begin_where_the_last_one_was_built() -> None:
    watch = SlowWatch(FakeInstrument())
    process = ProcessSights(watch)
    first, second = (LaneSights(process, seconds=1e-6) for _ in range(2))
    for _ in range(2):
        process.settle()
        watch.bytes += MIB
    process.settle()
    for sights in (first, second):
        sights.before()
        seen = sights.after(1)
        assert seen.own == 4096
    assert seen.grown == 4 * 4096


def test_a_compilation_belongs_to_the_block_that_it_fell_into() -> None:
    watch = SlowWatch(FakeInstrument())
    process = ProcessSights(watch)
    lanes = [LaneSights(process, seconds=1.0) for _ in range(3)]
    watch.compiled += 5
    process.settle()
    seen = []
    for added, sights in zip((0, 7, 0), lanes, strict=True):
        sights.before()
        watch.compiled += added
        seen.append(sights.after(1).compilations)
    assert seen == [1, 8, 1]
    watch.compiled = -10
    assert lanes[0].after(1).compilations == 0, "torch forgot them"


def test_memory_that_cannot_be_read() -> None:
    process = ProcessSights(Unwatched())
    sights = LaneSights(process, seconds=1.0)
    sights.before()
    assert sights.after(1) == Sight(compilations=0, grown=None, own=None)


def test_a_lane_that_nobody_watches() -> None:
    fake = FakeInstrument()
    lane = HostedLane("mine", lambda: fake.step({"forward": MS}), fake, QUICK, now=fake.now)
    lane.build()
    lane.warm_up()
    done = block(lane, 0)
    assert (done.compilations, done.grown) == (0, None)
    assert lane_watch([done]) == LaneWatch()


Seen = tuple[int | None, int]


@steady
@given(st.lists(st.tuples(st.integers(-(1 << 40), 1 << 40) | st.none(), st.integers(0, 3)), max_size=100))
def test_readings_are_thinned_sums_from_the_first_to_the_last(seen: list[Seen]) -> None:
    blocks = [
        BlockDone(
            variant="a",
            round=2 * i,
            nanoseconds=(1,),
            grown=grown,
            own=None if grown is None else -grown,
            compilations=compiled,
        )
        for i, (grown, compiled) in enumerate(seen)
    ]
    watch = lane_watch(blocks)
    readings, own = list(unpack(watch.live_bytes)), list(unpack(watch.own_bytes))
    sums = list(accumulate(grown for grown, _ in seen if grown is not None))
    assert own == [-reading for reading in readings]
    assert len(readings) == min(len(sums), READINGS)
    if sums:
        assert (readings[0], readings[-1]) == (sums[0], sums[-1])
        remaining = iter(sums)
        assert all(reading in remaining for reading in readings), "in order"
    assert watch.compilations == sum(compiled for _, compiled in seen)
    assert watch.first_compiled == next((2 * i for i, (_, compiled) in enumerate(seen) if compiled), None)


# ── pace ────────────────────────────────────────────────────────────────────────────────────────────


def paced(*, fails: bool = False) -> list[Event]:
    """The events of a launch whose device slows down by 100 MHz from reading to reading."""
    events: list[Event] = []
    instrument = FakeInstrument()
    clocks = iter((3000.0, 2900.0, 2800.0))
    lanes = [ScriptedLane(name, instrument, fails_at=(Stage.BUILD, None) if fails else None) for name in "ab"]
    conduct(
        lanes,
        random=Random(0),
        settings=QUICK,
        emit=events.append,
        now=instrument.now,
        pace=lambda: Paced(megahertz=next(clocks), slowed_by=("power cap",)),
    )
    return events


def assembled(events: list[Event], activity: LaunchActivity | None = None) -> LaunchTrial:
    cases = tuple(Case(variant=name, cell=CELL) for name in "ab")
    source = BuiltinSource(name="s")
    return launch_trial(
        LaunchAssignment(cell=CELL, number=0, cases=cases, source=source, settings=QUICK),
        events,
        processes=[Ended(events=events, started_by="fork-server")],
        timing=Timing(started=0.0, seconds=1.0),
        load=None,
        activity=activity,
    )


@pytest.mark.parametrize("fails", [False, True])
def test_the_pace_is_read_when_all_are_warm_and_after_the_last_round(fails: bool) -> None:
    events = paced(fails=fails)
    stages = [event.stage if isinstance(event, Entered) else None for event in events]
    first, last = (i for i, event in enumerate(events) if isinstance(event, Paced))
    assert Stage.ROUNDS not in stages[:first]
    assert not {Stage.BUILD, Stage.WARMUP} & {*stages[first:]}
    assert not any(isinstance(event, BlockDone | RoundBegan) for event in events[last:])


def test_the_pace_stands_beside_what_the_machine_did() -> None:
    counted = LaunchActivity(stolen=0.25, throttles=2)
    trial = assembled(paced(), counted)
    wanted = replace(counted, megahertz=(3000.0, 2900.0), throttle_reasons=("power cap",))
    assert trial.activity == wanted


def test_of_processes_one_after_another_each_has_a_clock_of_its_own() -> None:
    """What the card did between two of them, or for another's work, is no drift."""
    clocks = {"a": (1500.0, 1490.0), "b": (1980.0, 1960.0)}
    said = [[Paced(megahertz=begin), Paced(megahertz=end)] for begin, end in clocks.values()]
    source = BuiltinSource(name="s")
    cases = tuple(Case(variant=name, cell=CELL) for name in clocks)
    settings = replace(QUICK, isolation=Isolation.ALONE)
    trial = launch_trial(
        LaunchAssignment(cell=CELL, number=0, cases=cases, source=source, settings=settings),
        one_after_another(said),
        processes=[Ended(events=events, started_by="fork-server") for events in said],
        timing=Timing(started=0.0, seconds=1.0),
        load=None,
    )
    assert trial.activity is not None
    assert trial.activity.megahertz == (1980.0, 1960.0)


def test_a_launch_that_ended_before_its_last_reading_has_no_pair() -> None:
    events = paced()
    last = max(i for i, event in enumerate(events) if isinstance(event, Paced))
    trial = assembled(events[:last])
    assert trial.activity == LaunchActivity(throttle_reasons=("power cap",))
    assert assembled([]).activity is None


def test_a_card_is_glanced_at_after_the_blocks_whose_memory_is_read_and_told_with_their_rounds() -> None:
    fake = FakeInstrument()
    clocks = iter(range(1000, 3000))

    def glance() -> CardReading:
        fake.advance(1000 * MS)
        return CardReading(megahertz=next(clocks), reasons=0x04)

    settings = replace(QUICK, round_seconds=0.1)
    lane = HostedLane(
        "mine",
        lambda: fake.step({"forward": MS}),
        fake,
        settings,
        sights=ProcessSights(Unwatched(), glance),
        now=fake.now,
    )
    lane.build()
    lane.warm_up()
    blocks = [event for n in range(50) for event in lane.block(n) if isinstance(event, BlockDone)]
    read = [block for block in blocks if block.card is not None]
    assert 2 <= len(read) <= READINGS
    assert len(read) < len(blocks)
    assert {block.nanoseconds for block in blocks} == {blocks[0].nanoseconds}, "outside every clock"
    card = lane_watch(blocks).card
    assert card is not None
    assert list(unpack(card.rounds)) == [block.round for block in read]
    assert list(unpack(card.clocks)) == list(range(1000, 1000 + len(read)))
    assert len(card.held_below(inf)) == len(read)


def test_the_first_look_that_found_weights_not_finite_is_kept() -> None:
    looks = [Spoiled(variant="a", round=n, weights=weights) for n, weights in ((7, ("x",)), (9, ("x", "y")))]
    watch = lane_watch([], looks)
    assert (watch.not_finite, watch.first_not_finite) == (("x",), 7)
    assert lane_watch([], looks[1:]).not_finite == ("x", "y")


class Counts:
    """A watch whose numbers a test sets."""

    compiled, bytes = 0, 0

    def compilations(self) -> int:
        return self.compiled

    def memory(self) -> int | None:
        return self.bytes


@pytest.mark.parametrize("at", ["warm-up", "block"])
def test_what_a_lane_compiled_before_it_failed_is_not_its_neighbours(at: str) -> None:
    fake, watch = FakeInstrument(), Counts()
    sights = ProcessSights(watch)
    fails = [at == "warm-up"]

    def compile_and_fail() -> int:
        if fails[0]:
            watch.compiled, watch.bytes = 3, MIB
            raise MemoryError("out of memory")
        return MS

    scripts: dict[str, Duration] = {"honest": MS, "failing": compile_and_fail}
    honest, failing = (
        HostedLane(name, partial(fake.step, {"forward": script}), fake, QUICK, sights=sights, now=fake.now)
        for name, script in scripts.items()
    )
    for lane in (honest, failing):
        lane.build()
    honest.warm_up()
    if at == "block":
        failing.warm_up()
        fails[0] = True
    with pytest.raises(LaneStopped):
        _ = failing.block(0) if at == "block" else failing.warm_up()
    (done,) = [event for event in honest.block(0) if isinstance(event, BlockDone)]
    assert (done.compilations, done.grown) == (0, 0)


@pytest.mark.parametrize("times", [1, 10])
def test_a_graph_that_does_it_ten_times_is_looked_at_as_often(times: int) -> None:
    """What a block took counts, and not what doing it once took of that."""
    fake = FakeInstrument()
    once = fake.operations({"product": MS // 10})

    class Held:
        def __init__(self) -> None:
            self.times = times

        def __call__(self) -> None:
            for _ in range(times):
                once.calls[0]()

    settings = replace(QUICK, round_seconds=0.2, max_rounds=100)
    bind = lambda: dataclasses.replace(once, calls=(Held(),))  # noqa: E731
    lane = HostedLane("mine", bind, fake, settings, sights=ProcessSights(Counts()), now=fake.now)
    lane.build()
    lane.warm_up()
    done = [event for n in range(50) for event in lane.block(n) if isinstance(event, BlockDone)]
    assert sum(event.grown is not None for event in done) > READINGS / 2
