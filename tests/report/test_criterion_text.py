"""Runs in Criterion's words: samples made of blocks, ids, changes, and what Criterion has no words for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.trials import gather
from stepmark.records.case import AxisValue, Case, Cell, Mode
from stepmark.records.estimate import OutlierCounts
from stepmark.records.outcome import Outcome
from stepmark.records.run import CaseJudgement, Judgement, Recording
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaneTrial, Role
from stepmark.report import formats
from stepmark.report.criterion_text import render, render_benchmarks
from stepmark.report.criterion_view import (
    Benchmark,
    Collection,
    Result,
    Shortfall,
    benchmark_id,
    build_benchmarks,
)
from stepmark.stats.criterion_plan import Sampling
from tests.report.golden_files import GOLDEN, check_golden
from tests.support.properties import steady
from tests.support.recordings import QUIET, edit_lanes, make_recording
from tests.support.trials import OPS

TRAIN_PRIMARY = "step"


def judged(recording: Recording, *, primary: str = TRAIN_PRIMARY, **outcomes: Outcome | None) -> Judgement:
    """As much of a judgement as this format reads; outcomes by variant."""
    cases = tuple(
        CaseJudgement(
            case=case,
            baseline=False,
            outcome=outcomes.get(case.variant, Outcome.MEASURED),
            failure=None,
            primary=primary,
            phases=(primary,),
            summaries=(),
            verdicts=(),
            num_launches=0,
        )
        for case in recording.run.cases
    )
    return Judgement(run=recording.run, cases=cases, findings=())


def collected(recording: Recording, *, primary: str = TRAIN_PRIMARY) -> Collection:
    """Of the first case."""
    collection = build_benchmarks(judged(recording, primary=primary), recording)[0].collection
    assert collection is not None
    return collection


def measured(recording: Recording, previous: Recording | None = None) -> Result:
    result = build_benchmarks(judged(recording), recording, previous=previous)[0].result
    assert result is not None
    return result


def test_a_run_against_a_saved_one() -> None:
    axes: dict[str, tuple[AxisValue, ...]] = {"features": (512, 2048)}
    recording = make_recording(
        variants={"dense": 1.0, "mine": 0.9}, axes=axes, num_launches=12, num_rounds=40
    )
    previous = make_recording(
        variants={"dense": 1.0, "mine": 1.0}, axes={"features": (512,)}, num_launches=8, seed=1
    )
    judgement = judged(recording)
    check_golden("criterion.txt", render(judgement, recording, previous=previous))
    assert formats.render("criterion", judgement, recording, previous=previous) == render(
        judgement, recording, previous=previous
    )


def test_the_example_of_the_docs_is_of_this_run() -> None:
    page = (Path(__file__).parents[2] / "docs" / "criterion.md").read_text(encoding="utf-8")
    example = page.partition("```text\n")[2].partition("```")[0]
    assert example.startswith("Benchmarking synthetic/mine")
    assert example in (GOLDEN / "criterion.txt").read_text(encoding="utf-8")


@steady
@given(st.integers(1, 130), st.integers(1, 130))
def test_every_block_is_in_one_sample(num_launches: int, num_rounds: int) -> None:
    recording = make_recording(
        variants={"dense": 1.0}, num_launches=num_launches, num_rounds=num_rounds, seconds=1e-3, noise=QUIET
    )
    collection = collected(recording)
    blocks = num_launches * num_rounds
    assert collection.iterations == 4 * blocks
    assert collection.seconds == pytest.approx(4e-3 * 1.01 * blocks)
    assert collection.warmup_seconds == pytest.approx(8e-3 * num_launches)
    assert min(blocks, 100) >= collection.num_samples or collection.num_samples == num_launches
    if num_launches <= 100 and num_rounds >= 100:
        assert collection.num_samples == 100


def test_a_sample_lies_in_one_launch() -> None:
    """Launches at two levels give averages at these two, and none between."""
    recording = make_recording(variants={"dense": 1.0}, num_launches=3, num_rounds=70, noise=QUIET)
    recording = edit_lanes(recording, lambda number, lane: _slower(lane) if number == 1 else lane)
    result = measured(recording)
    # 34 samples of the first launch, 33 of the second, which takes twice the time, 33 of the third.
    assert result.point == pytest.approx(1.01e-3 * 1.33, rel=1e-6)
    assert result.outliers == OutlierCounts()
    assert result.low < result.point < result.high


def _slower(lane: LaneTrial) -> LaneTrial:
    samples = tuple(
        replace(sample, nanoseconds=(2 * np.frombuffer(sample.nanoseconds, "<i8")).tobytes())
        for sample in lane.samples
    )
    return replace(lane, samples=samples)


def test_smaller_blocks_of_a_slow_launch_weigh_as_much() -> None:
    """A slope would lean towards the fast launch, whose blocks have more iterations."""
    recording = make_recording(variants={"dense": 1.0}, num_launches=2, num_rounds=50, noise=QUIET)

    def halve(lane: LaneTrial) -> LaneTrial:
        return replace(lane, samples=tuple(replace(sample, iterations=2) for sample in lane.samples))

    recording = edit_lanes(recording, lambda number, lane: halve(lane) if number == 1 else lane)
    assert measured(recording).point == pytest.approx(1.01e-3 * 1.5, rel=1e-6)


def test_a_total_is_the_sum_of_its_parts_per_iteration() -> None:
    recording = make_recording(
        variants={"dense": 1.0}, num_launches=2, num_rounds=5, layout=OPS, noise=QUIET, seconds=1e-3
    )

    def finer(lane: LaneTrial) -> LaneTrial:
        """The first operation with twice the iterations in the same time: half the time each."""
        first, *others = lane.samples
        return replace(lane, samples=(replace(first, iterations=8), *others))

    collection = collected(edit_lanes(recording, lambda _, lane: finer(lane)), primary="total")
    assert collection.iterations == 40
    # The operations take 1/6, 2/6 and 3/6 of a millisecond; the first now half of that.
    assert collection.seconds == pytest.approx(40 * 1e-3 * 5.5 / 6)


@steady
@given(st.lists(st.tuples(st.sampled_from(Role), st.sampled_from(Isolation)), min_size=1, max_size=6))
def test_the_launches_are_those_of_the_verdicts(kinds: list[tuple[Role, Isolation]]) -> None:
    recording = make_recording(variants={"dense": 1.0}, num_launches=len(kinds), num_rounds=3, noise=QUIET)
    launches = tuple(
        replace(launch, role=role, isolation=isolation, number=number)
        for number, (launch, (role, isolation)) in enumerate(zip(recording.launches, kinds, strict=True))
    )
    recording = replace(recording, launches=launches)
    (trials,) = gather(recording).values()
    (benchmark,) = build_benchmarks(judged(recording), recording)
    shown = benchmark.collection.num_samples if benchmark.collection else 0
    assert shown == 3 * len(trials.measured)


def test_a_change_needs_the_same_case_in_the_saved_run() -> None:
    recording = make_recording(variants={"dense": 1.0})
    assert measured(recording).change is None
    assert measured(recording, make_recording(variants={"other": 1.0})).change is None
    assert (
        measured(recording, make_recording(variants={"dense": 1.0}, axes={"features": (4,)})).change is None
    )
    change = measured(recording, make_recording(variants={"dense": 0.8}, seed=2)).change
    assert change is not None
    assert change.low < change.point < change.high
    assert change.point == pytest.approx(0.25, abs=0.1)


def test_one_block_is_shown_but_not_compared() -> None:
    recording = make_recording(variants={"dense": 1.0}, num_launches=1, num_rounds=1)
    result = measured(recording, recording)
    assert result.low == result.point == result.high
    assert result.change is None


def test_the_answer_does_not_depend_on_the_other_cases() -> None:
    both = make_recording(variants={"dense": 1.0, "mine": 0.9})
    judgement = judged(both)
    alone = replace(judgement, cases=judgement.cases[1:])
    assert build_benchmarks(alone, both)[0] == build_benchmarks(judgement, both)[1]


def test_cases_without_a_result_are_named_with_their_end() -> None:
    recording = make_recording(variants={"dense": 1.0, "mine": 1.0, "later": 1.0})
    judgement = judged(recording, dense=Outcome.OUT_OF_MEMORY, mine=Outcome.CRASHED, later=None)
    assert render(judgement, recording) == (
        "Benchmarking synthetic/dense/features=512\n"
        "Benchmarking synthetic/dense/features=512: out-of-memory\n"
        "Benchmarking synthetic/mine/features=512\n"
        "Benchmarking synthetic/mine/features=512: crashed\n"
        "Benchmarking synthetic/later/features=512\n"
        "Benchmarking synthetic/later/features=512: not measured yet\n"
        "\n"
    )


def test_ids_tell_cases_apart() -> None:
    plain, wide = Cell(suite="s"), Cell(suite="s", axes=(("features", 512), ("bias", True)))
    assert benchmark_id(Case(variant="v", cell=plain), [plain]) == "s/v"
    assert benchmark_id(Case(variant="v", cell=wide), [wide]) == "s/v/features=512,bias=True"
    other = replace(plain, dtype="bfloat16", mode=Mode.FORWARD)
    assert benchmark_id(Case(variant="v", cell=other), [plain, other]) == "s/v/bfloat16,forward"
    elsewhere = replace(plain, suite="t", device="cuda")
    assert benchmark_id(Case(variant="v", cell=plain), [plain, elsewhere]) == "s/v"


def block(id: str, shortfall: Shortfall | None = None, *, num_samples: int = 100) -> Benchmark:
    return Benchmark(
        id=id,
        collection=Collection(
            num_samples=num_samples, seconds=6.0, iterations=100, warmup_seconds=3.0, shortfall=shortfall
        ),
        result=Result(low=1e-3, point=2e-3, high=3e-3, outliers=OutlierCounts()),
    )


@pytest.mark.parametrize("id", ["a/b", "g/" + "x" * 21, "µ/" + "µ" * 10])
def test_a_short_id_shares_the_line_of_its_time(id: str) -> None:
    *_, line, empty = render_benchmarks([block(id)]).splitlines()
    assert line.endswith("time:   [1.0000 ms 2.0000 ms 3.0000 ms]")
    assert line.startswith(id)
    assert line.encode().index(b"time:") == 24
    assert empty == ""


@pytest.mark.parametrize("id", ["g/" + "x" * 22, "µ/" + "µ" * 11])
def test_a_long_id_has_a_line_of_its_own(id: str) -> None:
    *_, line, time, _ = render_benchmarks([block(id)]).splitlines()
    assert (line, time.index("time:")) == (id, 24)


def test_an_empty_line_follows_each_group() -> None:
    lines = render_benchmarks([block("a/x"), block("a/y"), block("b/x")]).splitlines()
    assert [place for place, line in enumerate(lines) if not line] == [10, 16]


@pytest.mark.parametrize(
    ("sampling", "num_samples", "ending"),
    [
        (Sampling.LINEAR, 100, "to 6.0s, enable flat sampling, or reduce sample count to 50."),
        (Sampling.LINEAR, 50, "to 6.0s or enable flat sampling."),
        (Sampling.FLAT, 100, "to 6.0s, or reduce sample count to 50."),
        (Sampling.FLAT, 50, "to 6.0s."),
    ],
)
def test_warnings(sampling: Sampling, num_samples: int, ending: str) -> None:
    shortfall = Shortfall(target=5.0, sampling=sampling, advised_samples=50)
    lines = render_benchmarks([block("a/x", shortfall, num_samples=num_samples)]).splitlines()
    assert lines[2] == ""
    problem = f"Warning: Unable to complete {num_samples} samples in 5.0s."
    assert lines[3] == f"{problem} You may wish to increase target time {ending}"
