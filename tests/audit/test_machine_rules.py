"""throttled, clock-drift, noisy-neighbour, quantised-clock, compiled-inside: what watchers saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace as replace_fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.clock_drift import clock_drift
from stepmark.audit.compiled_inside import compiled_inside
from stepmark.audit.lanes import CaseLanes, each_case
from stepmark.audit.noisy_neighbour import noisy_neighbour
from stepmark.audit.quantised_clock import quantised_clock
from stepmark.audit.throttled import throttled
from stepmark.engines.fake import FakeEngine
from stepmark.pipeline import Order, measure
from stepmark.records.finding import Finding, Severity
from stepmark.records.outline import SuiteOutline, VariantOutline
from stepmark.records.run import Recording
from stepmark.records.sample import Layout, pack
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource
from stepmark.records.trial import LaneTrial, LaneWatch, LaunchActivity
from stepmark.store.store import Store
from tests.support.properties import steady
from tests.support.recordings import Noise, edit_lanes, make_recording
from tests.support.trials import FORWARD, OPS, make_lane

RULES = (clock_drift, compiled_inside, noisy_neighbour, quantised_clock, throttled)
NUM = 5
"""Launches of every recording here."""


def mine(recording: Recording) -> CaseLanes:
    return next(case for case in each_case(recording) if case.case.variant == "mine")


def during(*activities: LaunchActivity | None) -> CaseLanes:
    """The first launches with these activities, the others with a quiet one; each takes 0.9 s."""
    recording = make_recording(num_launches=NUM)
    quiet = [LaunchActivity(stolen=0.0, others=0.0, quota_seconds=0.0, throttles=0)] * NUM
    each = [*activities, *quiet][:NUM]
    launches = [replace(launch, activity=act) for launch, act in zip(recording.launches, each, strict=True)]
    return mine(replace(recording, launches=tuple(launches)))


def numbers(finding: Finding | None) -> dict[str, float]:
    assert finding is not None
    return dict(finding.numbers)


@pytest.mark.parametrize("rule", RULES)
def test_quiet_launches_and_launches_nobody_watched_give_rise_to_nothing(
    rule: Callable[[CaseLanes], Finding | None],
) -> None:
    assert rule(during()) is None
    assert rule(during(*[None] * NUM)) is None
    assert rule(during(*[LaunchActivity()] * NUM)) is None


# ── throttled ───────────────────────────────────────────────────────────────────────────────────────


@steady
@given(st.integers(0, 3), st.sampled_from([(), ("power cap",)]), st.floats(0.0, 0.1))
def test_heat_reasons_or_quota_is_enough(throttles: int, reasons: tuple[str, ...], held_back: float) -> None:
    activity = LaunchActivity(throttles=throttles, throttle_reasons=reasons, quota_seconds=held_back)
    finding = throttled(during(activity))
    assert (finding is not None) == bool(throttles or reasons or held_back > 0.009), "1 % of 0.9 s"
    if finding is not None:
        assert finding.severity is Severity.WARNING
        assert "1 of 5 launches" in finding.message
        assert ("power cap" in finding.message) == bool(reasons)
        assert ("quota" in finding.message) == (held_back > 0.009)


def test_all_kinds_are_summed_up() -> None:
    finding = throttled(
        during(
            LaunchActivity(throttles=2, throttle_reasons=("power cap",), quota_seconds=0.3),
            LaunchActivity(throttles=1, throttle_reasons=("heat (software)", "power cap")),
        )
    )
    assert numbers(finding) == {"launches": 2.0, "throttles": 3.0, "quota_seconds": 0.3}
    assert finding is not None
    assert finding.message == (
        "heat or power slowed the machine 3 times; the clock was held down (power cap, heat (software)); "
        "a quota held the machine back for 0.3 s, in 2 of 5 launches"
    )


# ── clock-drift ─────────────────────────────────────────────────────────────────────────────────────


@steady
@given(st.floats(0.5, 2.0), st.integers(0, NUM))
def test_the_clock_must_change_in_most_launches(factor: float, num_changed: int) -> None:
    moved, still = (LaunchActivity(megahertz=(2000.0, 2000.0 * f)) for f in (factor, 1.0))
    finding = clock_drift(during(*[moved] * num_changed, *[still] * (NUM - num_changed)))
    change = max(factor, 1.0 / factor) - 1.0
    if abs(change - 0.05) > 1e-9:
        assert (finding is not None) == (change > 0.05 and num_changed >= 3)


def test_the_largest_change_is_told_and_unread_launches_do_not_count() -> None:
    pairs = [(3000.0, 2800.0), (3000.0, 2000.0)]
    finding = clock_drift(during(*[LaunchActivity(megahertz=pair) for pair in pairs]))
    assert finding is not None
    assert finding.severity is Severity.NOTE
    assert "from 3000 MHz to 2000 MHz" in finding.message
    assert "2 of 2 launches" in finding.message


# ── noisy-neighbour ─────────────────────────────────────────────────────────────────────────────────


@steady
@given(st.floats(0.0, 4.0) | st.none(), st.floats(0.0, 0.1) | st.none())
def test_other_processes_and_other_machines(others: float | None, stolen: float | None) -> None:
    finding = noisy_neighbour(during(LaunchActivity(others=others, stolen=stolen)))
    loud, robbed = others is not None and others >= 0.5, stolen is not None and stolen >= 0.02
    assert (finding is not None) == (loud or robbed)
    if finding is not None:
        assert finding.severity is Severity.NOTE
        assert ("other processes" in finding.message) == loud
        assert ("hypervisor" in finding.message) == robbed


def with_load(*loads: float | None) -> CaseLanes:
    """The load at the start of the launches; the synthetic machine has 4 logical cores."""
    recording = make_recording(num_launches=len(loads))
    launches = tuple(
        replace(launch, load=replace(launch.load, load_1m=load))
        for launch, load in zip(recording.launches, loads, strict=True)
        if launch.load is not None
    )
    return mine(replace(recording, launches=launches))


def test_the_highest_load_is_told() -> None:
    finding = noisy_neighbour(with_load(6.25, 5.0, 1.0))
    assert finding is not None
    assert "up to 6.2 on 4 logical cores; in 2 of 3 launches" in finding.message
    assert numbers(finding)["load"] == 6.25


@pytest.mark.parametrize("loads", [(None,), (0.0,), (4.4,), (9.0, *[1.0] * 9)])
def test_cores_that_suffice_and_a_single_moment_among_ten_are_let_pass(loads: Sequence[float | None]) -> None:
    assert noisy_neighbour(with_load(*loads)) is None


# ── quantised-clock ─────────────────────────────────────────────────────────────────────────────────


def ticking(
    step: float, *, num_rounds: int = 30, coarse_launches: int = NUM, layout: Layout = FORWARD
) -> CaseLanes:
    """About 1 ms an iteration, in blocks of 4, by a clock that goes on in steps of that many seconds."""
    recording = make_recording(num_launches=NUM, num_rounds=num_rounds, layout=layout)
    nanoseconds, generator = max(1, round(step * 1e9)), np.random.default_rng(0)

    def read(exact: bytes) -> bytes:
        """A block begins somewhere between two steps."""
        times = np.frombuffer(exact, "<i8")
        begin = generator.integers(0, nanoseconds, times.size)
        return np.asarray((begin + times) // nanoseconds * nanoseconds, dtype="<i8").tobytes()

    def coarse(number: int, lane: LaneTrial) -> LaneTrial:
        if number >= coarse_launches:
            return lane
        samples = [replace(sample, nanoseconds=read(sample.nanoseconds)) for sample in lane.samples]
        return replace(lane, samples=tuple(samples))

    return mine(edit_lanes(recording, coarse))


@pytest.mark.parametrize("layout", [FORWARD, OPS])
@pytest.mark.parametrize("step", [1e-5, 1e-4, 5e-4, 16e-3])
def test_a_coarse_clock_shows(step: float, layout: Layout) -> None:
    finding = quantised_clock(ticking(step, layout=layout))
    assert finding is not None
    assert finding.severity is Severity.WARNING
    assert "5 of 5 launches" in finding.message
    assert numbers(finding)["step_seconds"] == pytest.approx(step / 4, rel=1e-4)


@pytest.mark.parametrize("step", [1e-9, 4e-8, 1e-6, 7e-6])
def test_a_fine_clock_does_not(step: float) -> None:
    assert quantised_clock(ticking(step)) is None


def test_twenty_blocks_are_needed_in_most_launches() -> None:
    assert quantised_clock(ticking(5e-4, num_rounds=19)) is None
    assert quantised_clock(ticking(5e-4, num_rounds=20)) is not None
    assert quantised_clock(ticking(5e-4, coarse_launches=2)) is None
    assert quantised_clock(ticking(5e-4, coarse_launches=3)) is not None


@steady
@given(st.integers(0, 2**32))
def test_noise_alone_is_never_taken_for_steps(seed: int) -> None:
    assert quantised_clock(mine(make_recording(num_launches=3, num_rounds=20, seed=seed))) is None


@steady
@given(st.floats(0.0025, 0.03), st.floats(0.0, 0.3), st.floats(0.9, 1.1), st.integers(0, 2**32))
def test_times_that_are_rounded_to_a_fifth_of_the_margin_or_more(
    grid: float, jitter: float, ratio: float, seed: int
) -> None:
    """What is timed moves by less than the grid, so that its times are a few values, or a single one."""
    recording = make_recording(
        variants={"dense": 1.0, "mine": ratio}, noise=Noise(), num_rounds=61, seed=seed
    )
    generator = np.random.default_rng(seed)
    nanoseconds = round(4e6 * grid)

    def rounded(_: int, lane: LaneTrial) -> LaneTrial:
        level = 4e6 * (ratio if lane.variant == "mine" else 1.0)
        times = level * np.exp(generator.normal(0.0, jitter * grid, 61))
        ticks = np.rint(times / nanoseconds) * nanoseconds
        assert lane.warmup is not None
        first = pack([3 * nanoseconds, 10 * nanoseconds])
        return replace(
            make_lane(lane.variant, {"forward": ticks / 4e9}, layout=FORWARD),
            warmup=replace(lane.warmup, nanoseconds=pack(map(int, ticks[:4])), first=first),
        )

    finding = quantised_clock(mine(edit_lanes(recording, rounded)))
    assert finding is not None
    assert numbers(finding)["step_seconds"] >= nanoseconds / 4.001e9


def test_what_is_coarse_follows_the_margin_up_to_a_hundredth() -> None:
    for step, coarse in ((1e-5, 0.01), (3e-5, 0.02), (3.8e-5, 0.045), (6e-5, 0.5)):
        case = ticking(step)
        for margin in (0.001, 0.01, 0.02, 0.045, 0.2, 0.5):
            policy = replace(case.run.policy, margin=margin)
            found = quantised_clock(replace_fields(case, run=replace(case.run, policy=policy)))
            assert (found is not None) == (margin <= coarse)


def never_changing(nanoseconds: int, *, first: Sequence[int], settling: Sequence[int] = ()) -> CaseLanes:
    """The same total in every block of every lane; other times only in the warm-ups."""

    def constant(_: int, lane: LaneTrial) -> LaneTrial:
        assert lane.warmup is not None
        warmup = replace(lane.warmup, first=pack(first), nanoseconds=pack(settling))
        blocks = np.full(30, nanoseconds / 4e9)
        return replace(make_lane(lane.variant, {"forward": blocks}, layout=FORWARD), warmup=warmup)

    return mine(edit_lanes(make_recording(layout=FORWARD, num_launches=NUM), constant))


def test_times_that_never_change_have_the_step_of_all_that_the_launch_holds() -> None:
    finding = quantised_clock(never_changing(4_000_000, first=(6_000_000, 5_000_000)))
    assert numbers(finding)["step_seconds"] == pytest.approx(1e-3 / 4)
    assert quantised_clock(never_changing(4_000_000, first=(6_000_000, 4_000_100))) is None
    assert quantised_clock(never_changing(4_000_000, first=(4_010_000,))) is not None
    assert quantised_clock(never_changing(4_000_000, first=(4_007_000,))) is None


def test_times_that_are_the_same_throughout_tell_nothing_unless_the_clock_stood_still() -> None:
    assert quantised_clock(never_changing(4_000_000, first=(4_000_000,))) is None
    assert quantised_clock(never_changing(4_000_000, first=())) is None
    assert numbers(quantised_clock(never_changing(0, first=(16_000_000,))))["step_seconds"] == 4e-3
    finding = quantised_clock(never_changing(0, first=(0,)))
    assert finding is not None
    assert finding.message == "the clock did not move in any block, in 5 of 5 launches"


@pytest.mark.parametrize("reading", [1, 50])
@pytest.mark.parametrize(
    "phases", [{"forward": 100_000}, {"forward": 20_000, "backward": 40_000}, {"f": 9_000_000}]
)
def test_scripted_times_that_never_change_are_not_accused(phases: dict[str, int], reading: int) -> None:
    outline = SuiteOutline(
        name="scripted",
        axes=(),
        variants=(VariantOutline(name="dense", baseline=True), VariantOutline(name="mine")),
    )
    engine = FakeEngine(outline, {"dense": phases, "mine": phases}, reading=reading)
    settings = Settings(launches=3, min_rounds=20, stop=False, pilot=0, alone=0, confirm=0)
    order = Order(sources=(BuiltinSource(name="scripted"),), settings=settings)
    with Store.open("sqlite://") as store:
        recording = measure(order, engine=engine, store=store)
    case = mine(recording)
    assert all(blocks is not None and blocks.size >= 20 and np.ptp(blocks) < 1e-12 for blocks in case.blocks)
    assert quantised_clock(case) is None


# ── compiled-inside ─────────────────────────────────────────────────────────────────────────────────


def compiling(*watches: LaneWatch) -> CaseLanes:
    def watched(number: int, lane: LaneTrial) -> LaneTrial:
        there = lane.variant == "mine" and number < len(watches)
        return replace(lane, watch=watches[number]) if there else lane

    return mine(edit_lanes(make_recording(num_launches=NUM), watched))


def test_a_single_compilation_is_told_with_its_round() -> None:
    finding = compiled_inside(compiling(LaneWatch(), LaneWatch(compilations=1, first_compiled=7)))
    assert finding is not None
    assert finding.severity is Severity.WARNING
    assert "compiled or tuned once while it was timed, in 1 of 5 launches, the earliest in round 7" in (
        finding.message
    )


@steady
@given(st.lists(st.integers(0, 9), min_size=NUM, max_size=NUM))
def test_compilations_are_summed_over_launches(counts: list[int]) -> None:
    finding = compiled_inside(compiling(*[LaneWatch(compilations=count) for count in counts]))
    assert (finding is not None) == any(counts)
    if finding is not None:
        assert numbers(finding) == {"compilations": sum(counts), "launches": sum(c > 0 for c in counts)}


def test_memory_alone_is_no_compilation() -> None:
    assert compiled_inside(compiling(LaneWatch(live_bytes=b"\0" * 64))) is None
