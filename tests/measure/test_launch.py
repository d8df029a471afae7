"""A launch: interleaving really happens, in orders that only the seed decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.instruments.fake import FakeInstrument
from stepmark.measure.failures import LaneStopped
from stepmark.measure.launch import conduct
from stepmark.measure.program import Program
from stepmark.measure.protocol import (
    BlockDone,
    Built,
    Entered,
    Event,
    FlagsChanged,
    LaneFailed,
    RenewalBegan,
    RoundBegan,
    Spoiled,
    Warmed,
)
from stepmark.records.outcome import Stage
from stepmark.records.settings import Isolation, Settings
from tests.measure.scripted import BROKE, MS, QUICK, ScriptedLane, conducted, hosted
from tests.support.properties import steady

LANES = ("dense", "twin", "thin")
seeds = st.integers(0, 2**32)
lanes = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=6, unique=True)


def entered(events: Sequence[Event], stage: Stage) -> list[str | None]:
    return [event.variant for event in events if isinstance(event, Entered) and event.stage is stage]


def orders(events: Sequence[Event]) -> list[tuple[str, ...]]:
    return [event.order for event in events if isinstance(event, RoundBegan)]


def blocks(events: Sequence[Event]) -> list[tuple[int, str]]:
    return [(event.round, event.variant) for event in events if isinstance(event, BlockDone)]


@steady
@given(seeds, lanes)
def test_every_round_is_a_permutation_of_all_lanes_and_runs_as_recorded(
    seed: int, variants: list[str]
) -> None:
    events = conducted(seed, variants)
    assert sorted(map(str, entered(events, Stage.BUILD))) == sorted(variants)
    assert sorted(map(str, entered(events, Stage.WARMUP))) == sorted(variants)
    recorded = orders(events)
    assert all(sorted(order) == sorted(variants) for order in recorded)
    ran = [(number, variant) for number, order in enumerate(recorded) for variant in order]
    assert blocks(events) == ran
    announced = entered(events, Stage.ROUNDS)
    assert announced[: len(ran)] == [variant for _, variant in ran]
    assert sorted(map(str, announced[len(ran) :])) == sorted(variants), "the last look at each"
    assert [event.number for event in events if isinstance(event, RoundBegan)] == list(range(len(recorded)))


@steady
@given(seeds, lanes)
def test_every_lane_is_built_before_any_is_warmed_up_before_any_round(seed: int, variants: list[str]) -> None:
    ranks = {Built: 0, Warmed: 1, BlockDone: 2}
    seen = [ranks[type(event)] for event in conducted(seed, variants) if type(event) in ranks]
    assert seen == sorted(seen)


def test_a_lane_is_announced_before_it_may_end_the_process() -> None:
    events: list[Event] = []

    class Noting(ScriptedLane):
        def _enter(self, stage: Stage, number: int | None) -> None:
            assert events[-1] == Entered(stage=stage, variant=self.variant, round=number)
            seen.append((stage, self.variant))

    seen: list[tuple[Stage, str]] = []
    fake = FakeInstrument()
    lanes = [Noting(name, fake) for name in LANES]
    conduct(lanes, random=Random(3), settings=QUICK, emit=events.append, now=fake.now)
    assert len(seen) == 3 * (2 + QUICK.max_rounds)


@steady
@given(seeds, lanes)
def test_the_seed_is_the_only_source_of_order(seed: int, variants: list[str]) -> None:
    assert conducted(seed, variants) == conducted(seed, variants)


def test_orders_differ_from_round_to_round_and_from_seed_to_seed() -> None:
    settings = replace(QUICK, min_rounds=20, max_rounds=20)
    for seed in range(20):
        assert len(set(orders(conducted(seed, LANES, settings)))) >= 4, "of six"
    assert len({tuple(orders(conducted(seed, LANES, settings))) for seed in range(50)}) == 50


def fair(counts: Counter[object], num_outcomes: int) -> None:
    """Every outcome about as often: within five standard deviations of a fair draw."""
    total = counts.total()
    expected = total / num_outcomes
    deviation = (total * (1 / num_outcomes) * (1 - 1 / num_outcomes)) ** 0.5
    assert len(counts) == num_outcomes
    assert all(abs(count - expected) < 5 * deviation for count in counts.values()), counts


def test_everything_that_has_a_first_is_shuffled_fairly() -> None:
    settings = replace(QUICK, min_rounds=2, max_rounds=2)
    launches = [conducted(f"{seed}/cell/0", LANES, settings) for seed in range(600)]
    builds = [tuple(entered(events, Stage.BUILD)) for events in launches]
    warmups = [tuple(entered(events, Stage.WARMUP)) for events in launches]
    first, second = ([orders(events)[number] for events in launches] for number in (0, 1))
    for order in (builds, warmups, first, second):
        fair(Counter(order), 6)
    for one, other in ((builds, warmups), (warmups, first), (first, second)):
        fair(Counter((a[0], b[0]) for a, b in zip(one, other, strict=True)), 9)


failures = st.tuples(st.just(Stage.ROUNDS), st.integers(0, 5)) | st.sampled_from(
    [(Stage.BUILD, None), (Stage.WARMUP, None)]
)


@steady
@given(seeds, st.dictionaries(st.sampled_from("abcd"), failures, max_size=4))
def test_a_lane_that_stops_leaves_and_the_others_go_on(
    seed: int, fails: dict[str, tuple[Stage, int | None]]
) -> None:
    settings = replace(QUICK, min_rounds=6, max_rounds=6)
    events = conducted(seed, "abcd", settings, fails=fails)
    done = Counter(variant for _, variant in blocks(events))
    for variant in "abcd":
        stage, number = fails.get(variant, (None, None))
        kept = 6 if stage is None else number if number is not None else 0
        assert done[variant] == kept, "finished blocks stay, and the others finish all rounds"
    failed = {event.variant: event.failure for event in events if isinstance(event, LaneFailed)}
    assert {variant: failure.round for variant, failure in failed.items()} == {
        variant: number for variant, (_, number) in fails.items()
    }
    for left in failed:
        last = max(i for i, event in enumerate(events) if getattr(event, "variant", None) == left)
        assert isinstance(events[last], LaneFailed), "nothing comes after it"
        assert all(left not in order for order in orders(events[last:]))


def test_a_launch_whose_lanes_have_all_stopped_is_over() -> None:
    events = conducted(1, "ab", fails={"a": (Stage.BUILD, None), "b": (Stage.ROUNDS, 1)})
    assert blocks(events) == [(0, "b")]
    assert isinstance(events[-1], LaneFailed)
    assert conducted(1, "a", fails={"a": (Stage.WARMUP, None)})[-1] == LaneFailed(variant="a", failure=BROKE)


def test_a_mistake_of_our_own_is_not_a_failure_of_the_lane() -> None:
    class Broken(ScriptedLane):
        def block(self, number: int, *, lead_in: bool = False) -> Sequence[Event]:
            raise AssertionError("a bug")

    with pytest.raises(AssertionError, match="a bug"):
        conduct([Broken("a")], random=Random(0), settings=QUICK, emit=lambda _: None, now=lambda: 0.0)


@steady
@given(seeds, lanes, st.data())
def test_all_lanes_have_a_lead_in_or_none(seed: int, variants: list[str], data: st.DataObject) -> None:
    """A lead-in where any lane repeats its step in a block, and where they run one after another."""
    told: list[tuple[str, bool]] = []

    class Listening(ScriptedLane):
        def block(self, number: int, *, lead_in: bool = False) -> Sequence[Event]:
            told.append((self.variant, lead_in))
            return super().block(number, lead_in=lead_in)

    sizes = data.draw(st.lists(st.integers(1, 3), min_size=len(variants), max_size=len(variants)))
    group = [Listening(name, iterations=(n, n)) for name, n in zip(variants, sizes, strict=True)]
    conduct(group, random=Random(seed), settings=QUICK, emit=lambda _: None, now=lambda: 0.0)
    assert {lead_in for _, lead_in in told} == {max(sizes) > 1}
    assert {variant for variant, _ in told} == {*variants}
    told.clear()
    one_by_one = replace(QUICK, isolation=Isolation.ALONE)
    for lane in group:
        conduct([lane], random=Random(seed), settings=one_by_one, emit=lambda _: None, now=lambda: 0.0)
    assert {*told} == {(variant, True) for variant in variants}, "a lane alone does not know of the others"


def renewals(events: Sequence[Event]) -> list[RenewalBegan]:
    return [event for event in events if isinstance(event, RenewalBegan)]


@steady
@given(seeds, lanes, st.sampled_from([0.01, 0.03, 0.05, 0.1, 0.2]))
def test_lanes_are_built_anew_when_an_instance_had_its_time(
    seed: int, variants: list[str], instance: float
) -> None:
    """Each block takes 10 ms of the 200 ms that each lane has, a renewal 1 ms a lane."""
    settings = replace(QUICK, round_seconds=0.2, instance_seconds=instance, max_rounds=100)
    events = conducted(seed, variants, settings)
    rounds = len(orders(events))
    assert 20 <= rounds <= 21, "the time of the renewals is not taken from the rounds"
    assert all(sorted(event.order) == sorted(variants) for event in renewals(events))
    borders = [0, *(event.number for event in renewals(events)), rounds]
    lengths = [end - begin for begin, end in pairwise(borders)]
    assert min(lengths) * 0.01 >= instance - 0.01
    assert len(lengths) >= min(int(0.2 / instance), 12) - 1
    built = [event.variant for event in events if isinstance(event, Entered) and event.round == borders[1]]
    if len(borders) > 2:
        assert tuple(built[: len(variants)]) == renewals(events)[0].order


def test_what_is_dear_to_build_is_not_built_anew() -> None:
    settings = replace(QUICK, round_seconds=0.2, instance_seconds=0.02, max_rounds=100)

    def launched(renewal: int) -> list[Event]:
        events: list[Event] = []
        fake = FakeInstrument()
        lanes = [ScriptedLane(name, fake, renewal_time=renewal) for name in "ab"]
        conduct(lanes, random=Random(1), settings=settings, emit=events.append, now=fake.now)
        return events

    cheap, dear = len(renewals(launched(MS))), len(renewals(launched(30 * MS)))
    assert cheap > 5
    assert dear == 1, "the first tells what it costs"


def test_a_dear_first_build_or_warm_up_is_taken_for_the_price() -> None:
    class Dear(ScriptedLane):
        def build(self) -> Sequence[Event]:
            self.instrument.advance(100 * MS)
            return super().build()

    fake = FakeInstrument()
    events: list[Event] = []
    settings = replace(QUICK, round_seconds=0.2, instance_seconds=0.02, max_rounds=100)
    conduct(
        [Dear(name, fake) for name in "ab"],
        random=Random(1),
        settings=settings,
        emit=events.append,
        now=fake.now,
    )
    assert renewals(events) == []


def test_a_lane_that_fails_when_it_is_built_anew_leaves() -> None:
    settings = replace(QUICK, round_seconds=0.2, instance_seconds=0.05, max_rounds=100)
    first = renewals(conducted(1, "ab", settings))[0].number
    events = conducted(1, "ab", settings, fails={"a": (Stage.BUILD, first)})
    done = Counter(variant for _, variant in blocks(events))
    assert done["a"] == first
    assert done["b"] > first
    (failed,) = [event for event in events if isinstance(event, LaneFailed)]
    assert (failed.variant, failed.failure.round) == ("a", first)


settings_of_rounds = st.builds(
    Settings,
    min_rounds=st.integers(0, 8),
    max_rounds=st.integers(1, 12),
    round_seconds=st.sampled_from([0.0, 0.01, 0.035, 0.5]),
)


@steady
@given(seeds, lanes, settings_of_rounds)
def test_the_number_of_rounds_follows_from_least_most_and_time(
    seed: int, variants: list[str], settings: Settings
) -> None:
    """Each block takes 10 ms, so a round gives every lane 10 ms of its time."""
    rounds = len(orders(conducted(seed, variants, settings)))
    by_time = -(-round(settings.round_seconds * 1000) // 10)
    assert rounds == max(settings.min_rounds, min(settings.max_rounds, by_time))


def test_a_lane_that_left_gives_its_time_back() -> None:
    settings = replace(QUICK, min_rounds=1, max_rounds=100, round_seconds=0.1)
    assert len(orders(conducted(0, "ab", settings))) == 10
    assert len(orders(conducted(0, "ab", settings, fails={"b": (Stage.BUILD, None)}))) == 10


def test_flags_of_one_lane_never_reach_the_next() -> None:
    fake = FakeInstrument()
    seen: list[str] = []

    def careless() -> int:
        fake.settings["grad"] = "False"
        return MS

    def watching() -> int:
        seen.append(fake.settings["grad"])
        return MS

    def bind_careless() -> Program:
        fake.settings["threads"] = "8"
        return fake.step({"forward": careless})

    lanes = [
        hosted(fake, bind_careless, variant="careless"),
        hosted(fake, lambda: fake.step({"forward": watching}), variant="watching"),
    ]
    fake.settings["threads"] = "1"
    events: list[Event] = []
    for seed in range(6):  # whoever comes first
        conduct(lanes, random=Random(seed), settings=QUICK, emit=events.append, now=fake.now)
    assert set(seen) == {"True"}
    assert fake.settings == {"grad": "True", "threads": "1"}
    reported = Counter(
        (event.variant, event.change.name) for event in events if isinstance(event, FlagsChanged)
    )
    num_blocks = sum(variant == "careless" for _, variant in blocks(events))
    assert reported == {("careless", "grad"): num_blocks + 6, ("careless", "threads"): 6}


def test_hosted_lanes_are_timed_exactly_in_company() -> None:
    """Interleaved with others, every block of a lane is still only its own time."""
    fake = FakeInstrument()
    lanes = [
        hosted(fake, lambda ms=ms: fake.step({"forward": ms * MS, "backward": 2 * ms * MS}), variant=str(ms))  # type: ignore[misc]
        for ms in (1, 2, 3)
    ]
    events: list[Event] = []
    conduct(lanes, random=Random(5), settings=QUICK, emit=events.append, now=fake.now)
    for event in events:
        if isinstance(event, BlockDone):
            step, forward, backward = event.nanoseconds
            assert step == forward + backward == 3 * forward
            assert forward % (int(event.variant) * MS) == 0
    assert {variant for _, variant in blocks(events)} == {"1", "2", "3"}


@steady
@given(seeds, lanes, st.data())
def test_lanes_that_live_are_looked_at_once_after_the_last_round(
    seed: int, variants: list[str], data: st.DataObject
) -> None:
    spoiled = data.draw(st.sets(st.sampled_from(variants)))
    gone = data.draw(st.sampled_from(variants))
    events = conducted(seed, variants, fails={gone: (Stage.ROUNDS, 1)}, spoiled=spoiled)
    rounds = len(orders(events))
    found = [event for event in events if isinstance(event, Spoiled)]
    assert sorted(event.variant for event in found) == sorted(spoiled - {gone})
    assert all(event.round == rounds for event in found)
    last_block = max(i for i, event in enumerate(events) if isinstance(event, BlockDone))
    assert all(events.index(event) > last_block for event in found)


@steady
@given(seeds, lanes, st.sampled_from([(Stage.BUILD, None), (Stage.WARMUP, None), (Stage.ROUNDS, 1)]))
def test_a_lane_that_takes_the_process_with_it_is_the_only_one_that_failed(
    seed: int, variants: list[str], at: tuple[Stage, int | None]
) -> None:
    events: list[Event] = []
    instrument = FakeInstrument()
    hosts = [
        ScriptedLane(name, instrument, fails_at=at if name == variants[0] else None, ends_process=True)
        for name in variants
    ]
    with pytest.raises(LaneStopped):
        conduct(hosts, random=Random(seed), settings=QUICK, emit=events.append, now=instrument.now)
    assert [event.variant for event in events if isinstance(event, LaneFailed)] == variants[:1]
    last = [event for event in events if isinstance(event, Entered)][-1]
    assert (last.variant, last.stage, last.round) == (variants[0], *at), "its end is blamed on that lane"


def test_the_last_look_is_announced_like_a_block() -> None:
    """A process that ends or hangs there would be blamed on whoever came last in the last round."""
    events = conducted(0, LANES)
    last = [event for event in events if isinstance(event, Entered)][-len(LANES) :]
    assert sorted(str(event.variant) for event in last) == sorted(LANES)
    assert {event.round for event in last} == {QUICK.max_rounds}
