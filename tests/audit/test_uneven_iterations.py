"""uneven-iterations: work in every n-th step, and the machine that interrupts honest lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.lanes import each_case
from stepmark.audit.uneven_iterations import uneven_iterations
from stepmark.records.environment import LoadFacts
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.run import Recording
from stepmark.records.sample import Layout
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaneTrial, LaneWatch, LaunchActivity, LaunchTrial, Renewal
from stepmark.stats.arrays import FloatArray
from tests.support.properties import steady
from tests.support.recordings import edit_lanes, make_recording
from tests.support.trials import FORWARD, OPS, TRAIN, make_lane

Shape = Callable[[int, int], FloatArray]
"""Factors by round, given the launch and the number of rounds."""
CROWDED = LaunchActivity(others=0.9, stolen=0.0)


def findings(recording: Recording) -> list[Finding]:
    return [found for case in each_case(recording) if (found := uneven_iterations(case)) is not None]


def numbers(finding: Finding) -> dict[str, float]:
    return dict(finding.numbers)


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


def now_and_then(period: int, factor: float) -> Shape:
    """As often, in random places."""
    generator = np.random.default_rng(period)
    return lambda _, num: np.where(generator.permutation(num) < num // period, factor, 1.0)


def recording_of(mine: float = 1.0, *, launches: int = 5, layout: Layout = TRAIN) -> Recording:
    return make_recording(
        variants={"dense": 1.0, "mine": mine}, num_launches=launches, num_rounds=60, layout=layout
    )


def recording_from(
    launches: Sequence[Mapping[str, FloatArray]], *, renewed_after: int | None = None
) -> Recording:
    """From each lane's seconds an iteration, block by block; built anew after so many rounds."""
    recording = make_recording(num_launches=len(launches), layout=FORWARD)
    made = []
    for launch, lanes in zip(recording.launches, launches, strict=True):
        rounds = len(next(iter(lanes.values())))
        anew = range(renewed_after, rounds, renewed_after) if renewed_after else ()
        made.append(
            replace(
                launch,
                lanes=tuple(
                    make_lane(name, {"forward": blocks}, layout=FORWARD) for name, blocks in lanes.items()
                ),
                renewals=tuple(Renewal(round=number, order=tuple(lanes)) for number in anew),
            )
        )
    return replace(recording, launches=tuple(made))


def during(recording: Recording, activity: LaunchActivity, *, launches: int = 99) -> Recording:
    return edit_launches(recording, lambda launch: replace(launch, activity=activity), launches=launches)


def edit_launches(
    recording: Recording, change: Callable[[LaunchTrial], LaunchTrial], *, launches: int = 99
) -> Recording:
    """The first so many."""
    changed = [change(launch) if launch.number < launches else launch for launch in recording.launches]
    return replace(recording, launches=tuple(changed))


# ── work of its own ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("layout", [TRAIN, FORWARD, OPS])
def test_what_is_faster_by_medians_and_slower_on_average_is_no_verdict(layout: Layout) -> None:
    (finding,) = findings(shaped(recording_of(0.7, layout=layout), every(4, 6.0), "mine"))
    assert "/mine[" in finding.case
    assert (finding.name, finding.severity) == (FindingName.UNEVEN_ITERATIONS, Severity.ERROR)
    assert numbers(finding)["ratio_of_means"] == pytest.approx(0.7 * 2.25, rel=0.05)
    assert numbers(finding)["ratio_of_medians"] == pytest.approx(0.7, rel=0.05)
    assert numbers(finding)["blocks_a_turn"] == 4.0
    assert finding.message.startswith("this case is uneven, in turns of 4 blocks: ")


def test_what_is_equivalent_in_the_median_alone_is_no_verdict_either() -> None:
    (finding,) = findings(shaped(recording_of(1.0, launches=9), every(5, 2.0), "mine"))
    assert finding.severity is Severity.ERROR


def test_what_is_faster_either_way_is_told_and_stands() -> None:
    (finding,) = findings(shaped(recording_of(0.5), every(5, 2.0), "mine"))
    assert finding.severity is Severity.WARNING


def test_what_comes_at_random_is_told_and_stands() -> None:
    (finding,) = findings(shaped(recording_of(0.7), now_and_then(4, 6.0), "mine"))
    assert finding.severity is Severity.WARNING
    assert "without a pattern" in finding.message
    assert "blocks_a_turn" not in numbers(finding)


@pytest.mark.parametrize(("factor", "severity"), [(1.5, Severity.ERROR), (3.0, Severity.WARNING)])
def test_an_uneven_baseline_is_named_where_it_is_compared(factor: float, severity: Severity) -> None:
    (finding,) = findings(shaped(recording_of(factor), every(4, 4.0), "dense"))
    assert "/mine[" in finding.case
    assert finding.severity is severity
    assert finding.message.startswith("the baseline is uneven, in turns of 4 blocks: ")
    seen = numbers(finding)
    assert seen["mean_seconds"] == pytest.approx(seen["median_seconds"], rel=0.02)
    assert seen["baseline_mean_seconds"] == pytest.approx(1.75 * seen["baseline_median_seconds"], rel=0.05)
    assert seen["ratio_of_means"] < seen["ratio_of_medians"]


def stepping(
    num: int, *, period: int, size: int, lead_in: int, renewed_after: int, generator: np.random.Generator
) -> FloatArray:
    """A lane that does its heavy work in every `period`-th step since it was built."""
    steps = np.zeros((num, lead_in + size), dtype=int)
    for begin, end in pairwise([*range(0, num, renewed_after), num]):
        count = (end - begin) * (lead_in + size)
        steps[begin:end] = (generator.integers(2, 40) + np.arange(count)).reshape(-1, lead_in + size)
    spent = np.where(steps[:, lead_in:] % period == 0, 8.0, 1.0).mean(axis=1)
    blocks: FloatArray = 1e-3 * spent * np.exp(generator.normal(0.0, 0.01, num))
    return blocks


@steady
@given(
    st.integers(2, 12),
    st.integers(1, 3),
    st.integers(0, 2),
    st.booleans(),
    st.booleans(),
    st.integers(0, 999),
)
def test_work_in_every_nth_step_that_turns_the_verdict_is_an_error(
    period: int, size: int, lead_in: int, renewed: bool, by_baseline: bool, seed: int
) -> None:
    """Whatever a block takes of the steps, unless it is always the same: then all blocks are alike."""
    assume((lead_in + size) % period)
    generator = np.random.default_rng(seed)
    num, renewed_after = 165, 55 if renewed else 165
    shape = {"period": period, "size": size, "lead_in": lead_in, "renewed_after": renewed_after}
    lanes = [stepping(num, **shape, generator=generator) for _ in range(6)]
    logs = np.array([np.log(np.mean(blocks) / np.median(blocks)) for blocks in lanes])
    assume(np.all(np.abs(logs - logs.mean()) < 0.3 * abs(logs.mean())) and abs(logs.mean()) > 0.1)
    level = float(np.mean([np.mean(blocks) * np.median(blocks) for blocks in lanes])) ** 0.5
    names = ("dense", "mine") if by_baseline else ("mine", "dense")
    launches = [
        dict(zip(names, (blocks, level * np.exp(generator.normal(0.0, 0.01, num))), strict=True))
        for blocks in lanes
    ]
    (finding,) = findings(recording_from(launches, renewed_after=renewed_after))
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("the baseline" if by_baseline else "this case")


# ── what the machine does ───────────────────────────────────────────────────────────────────────────


@steady
@given(st.integers(0, 10_000), st.floats(0.5, 2.0))
def test_even_iterations_are_not_accused(seed: int, factor: float) -> None:
    recording = make_recording(
        variants={"dense": 1.0, "mine": factor}, num_launches=6, num_rounds=40, seed=seed
    )
    assert findings(recording) == []


def pauses(
    generator: np.random.Generator, *, every: float, lasting: float, jitter: float, until: float
) -> Iterator[tuple[float, float]]:
    """Begin and length of each interruption: a timetable, or at random where the jitter is infinite."""
    moment = generator.uniform(0.0, every)
    while moment < until:
        yield moment, lasting * generator.uniform(0.7, 1.3)
        gap = generator.exponential(every) if jitter == np.inf else every * generator.normal(1.0, jitter)
        moment += max(gap, 0.1 * every)


def take_turns(
    seconds: Mapping[str, float],
    pain: Mapping[str, float],
    taken: Iterator[tuple[float, float]],
    generator: np.random.Generator,
    *,
    rounds: int,
) -> dict[str, FloatArray]:
    """Honest lanes on one core, in random order. An interruption costs a lane its length times its pain; one
    that begins between two blocks costs nothing."""
    blocks: dict[str, list[float]] = {name: [] for name in seconds}
    now = 0.0
    due, lasting = next(taken)
    for _ in range(rounds):
        for name in generator.permutation(list(seconds)):
            now += generator.uniform(2e-5, 1e-4)
            while due < now:
                due, lasting = next(taken)
            begin, end = now, now + seconds[name] * generator.normal(1.0, 0.01)
            while due < end:
                end += lasting * pain[name]
                due, lasting = next(taken)
            blocks[name].append(end - begin)
            now = end
    return {name: np.array(times) for name, times in blocks.items()}


def interrupted(seed: int) -> Recording:
    """Lanes of any length and pain, one in three of about the same length, interrupted as often as may be."""
    generator = np.random.default_rng(seed)
    dense = np.exp(generator.uniform(np.log(1e-4), np.log(8e-3)))
    near = seed % 3 == 0
    mine = (
        dense * generator.uniform(0.7, 1.4) if near else np.exp(generator.uniform(np.log(1e-4), np.log(8e-3)))
    )
    seconds, pain = {"dense": dense, "mine": mine}, {"dense": 1.0, "mine": generator.choice([1.0, 2.0, 3.0])}
    every = np.exp(generator.uniform(np.log(1e-3), np.log(3e-2)))
    table = {
        "every": every,
        "lasting": every * generator.uniform(0.03, 0.25),
        "jitter": generator.choice([0.0, 0.02, 0.1, 0.3, np.inf]),
        "until": np.inf,
    }
    rounds = int(np.clip(0.3 / (dense + mine), 10, 300))
    return recording_from(
        [
            take_turns(seconds, pain, pauses(generator, **table), generator, rounds=rounds)
            for _ in range(int(generator.integers(3, 9)))
        ]
    )


def test_a_timetable_of_interruptions_never_makes_an_error() -> None:
    told = [finding for seed in range(240) for finding in findings(interrupted(seed))]
    assert {finding.severity for finding in told} == {Severity.WARNING}, "and now and then a warning"


@steady
@given(st.integers(0, 10_000))
def test_of_launches_that_others_disturbed_nothing_is_said(seed: int) -> None:
    assert findings(during(interrupted(seed), CROWDED)) == []


# ── launches that do not count ──────────────────────────────────────────────────────────────────────


def of_lanes(variant: str, change: Callable[[LaneTrial], LaneTrial]) -> Callable[[LaunchTrial], LaunchTrial]:
    return lambda launch: replace(
        launch, lanes=tuple(change(lane) if lane.variant == variant else lane for lane in launch.lanes)
    )


def unsettled(lane: LaneTrial) -> LaneTrial:
    assert lane.warmup is not None
    return replace(lane, warmup=replace(lane.warmup, settled=False))


def compiling(lane: LaneTrial) -> LaneTrial:
    return replace(lane, watch=LaneWatch(compilations=1, first_compiled=3))


def high_load(launch: LaunchTrial) -> LaunchTrial:
    return replace(launch, load=LoadFacts(time=0.0, load_1m=9.0))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda launch: replace(launch, activity=CROWDED),
        high_load,
        *(of_lanes(variant, change) for variant in ("mine", "dense") for change in (unsettled, compiling)),
    ],
)
def test_three_launches_that_nothing_spoiled_are_needed(spoil: Callable[[LaunchTrial], LaunchTrial]) -> None:
    uneven = shaped(recording_of(0.7, launches=6), every(4, 6.0), "mine")
    assert findings(edit_launches(uneven, spoil, launches=4)) == []
    assert len(findings(edit_launches(uneven, spoil, launches=3))) == 1


def test_a_load_of_the_minute_before_is_nothing_where_the_launch_itself_was_counted() -> None:
    uneven = shaped(recording_of(0.7), every(4, 6.0), "mine")
    quiet = during(edit_launches(uneven, high_load), LaunchActivity(others=0.1, stolen=0.0))
    assert len(findings(quiet)) == 1


def test_lanes_that_do_not_take_turns_make_no_error() -> None:
    uneven = shaped(recording_of(0.7), every(4, 6.0), "mine")
    apart = edit_launches(uneven, lambda launch: replace(launch, isolation=Isolation.ALONE))
    assert [finding.severity for finding in findings(apart)] == [Severity.WARNING]


RENEWED = st.lists(st.integers(1, 59), max_size=4, unique=True).map(sorted)


@steady
@given(RENEWED, RENEWED)
def test_lanes_that_do_not_take_turns_are_built_anew_each_in_its_own_rounds(
    mine: list[int], dense: list[int]
) -> None:
    """Every block counts once, in whatever rounds its lane and another one were built anew."""
    uneven = shaped(recording_of(0.7), every(4, 6.0), "mine")
    apart = edit_launches(uneven, lambda launch: replace(launch, isolation=Isolation.ALONE))
    renewals = tuple(
        Renewal(round=number, order=(name,))
        for name, numbers in (("mine", mine), ("dense", dense))
        for number in numbers
    )
    renewed = edit_launches(apart, lambda launch: replace(launch, renewals=renewals))
    assert findings(renewed) == findings(apart)


def test_two_launches_say_nothing_and_neither_does_one_that_was_hit() -> None:
    assert findings(shaped(recording_of(launches=2), every(4, 6.0), "mine")) == []
    once: Shape = lambda number, num: every(4, 6.0)(0, num) if number == 0 else np.ones(num)  # noqa: E731
    assert findings(shaped(recording_of(launches=6), once, "mine")) == []
