"""The judgement of a whole run."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.judge import judge
from stepmark.analysis.times import REMAINDER
from stepmark.records.estimate import Estimate, Method
from stepmark.records.outcome import Outcome
from stepmark.records.run import Judgement, Recording, RunStatus
from stepmark.records.sample import Layout, pack, unpack
from stepmark.records.settings import Policy, Settings
from stepmark.records.trial import LaneTrial
from stepmark.records.verdict import Look, Reason, VerdictKind
from stepmark.stats.sequential import EARLY_SHARE
from tests.support.properties import steady
from tests.support.recordings import (
    QUIET,
    Noise,
    edit_lanes,
    fail_lane,
    fail_solo,
    make_recording,
)
from tests.support.trials import FORWARD, OPS, TRAIN, make_failure


def scale(recording: Recording, variants: Sequence[str], factor: int) -> Recording:
    """All times of the named variants multiplied."""

    def slower(_: int, lane: LaneTrial) -> LaneTrial:
        if lane.variant not in variants:
            return lane
        samples = tuple(
            msgspec.structs.replace(
                sample, nanoseconds=pack(factor * block for block in unpack(sample.nanoseconds))
            )
            for sample in lane.samples
        )
        return msgspec.structs.replace(lane, samples=samples)

    return edit_lanes(recording, slower)


def ratios(judgement: Judgement) -> list[Estimate]:
    return [verdict.ratio for case in judgement.cases for verdict in case.verdicts if verdict.ratio]


def assert_same_times(one: list[Estimate], other: list[Estimate], factor: float = 1.0) -> None:
    assert len(one) == len(other) > 0
    for a, b in zip(one, other, strict=True):
        expected = [factor * a.low, factor * a.point, factor * a.high]
        assert [b.low, b.point, b.high] == pytest.approx(expected, rel=1e-9)


recordings = st.builds(
    make_recording,
    num_launches=st.integers(1, 4),
    num_rounds=st.integers(3, 8),
    layout=st.sampled_from([TRAIN, OPS, FORWARD]),
    seed=st.integers(0, 1000),
)


@steady
@given(recordings, st.integers(2, 1000))
def test_a_slower_machine_leaves_every_ratio(recording: Recording, factor: int) -> None:
    slower = scale(recording, ("dense", "mine"), factor)
    assert_same_times(ratios(judge(recording)), ratios(judge(slower)))


@steady
@given(recordings, st.integers(2, 1000))
def test_a_slower_case_multiplies_every_ratio(recording: Recording, factor: int) -> None:
    slower = scale(recording, ("mine",), factor)
    assert_same_times(ratios(judge(recording)), ratios(judge(slower)), factor)


@steady
@given(recordings, st.randoms(use_true_random=False))
def test_the_order_of_the_launches_does_not_matter(recording: Recording, random: Random) -> None:
    launches = list(recording.launches)
    random.shuffle(launches)
    assert judge(msgspec.structs.replace(recording, launches=tuple(launches))) == judge(recording)


@steady
@given(recordings)
def test_same_recording_same_judgement(recording: Recording) -> None:
    decoded = msgspec.json.decode(msgspec.json.encode(recording), type=Recording)
    assert judge(decoded) == judge(recording)


@pytest.mark.parametrize(
    ("layout", "phases"),
    [
        (TRAIN, (*TRAIN.phases, REMAINDER)),
        (OPS, ("total", "overhead", *OPS.phases)),
        (FORWARD, ("forward",)),
    ],
)
def test_what_is_known_of_a_measured_case(layout: Layout, phases: tuple[str, ...]) -> None:
    recording = make_recording(num_launches=3, layout=layout)
    judgement = judge(recording)
    assert [case.case for case in judgement.cases] == list(recording.run.cases)
    assert judgement.findings == ()
    for case in judgement.cases:
        assert (case.outcome, case.failure) == (Outcome.MEASURED, None)
        assert (case.primary, case.phases, case.num_launches) == (layout.primary, phases, 3)
        assert tuple(summary.phase for summary in case.summaries) == phases
        assert case.parameters == 262_656


def test_the_baseline_has_no_verdict() -> None:
    judgement = judge(make_recording(num_launches=3))
    assert [(case.baseline, bool(case.verdicts)) for case in judgement.cases] == [
        (True, False),
        (False, True),
    ]


def test_each_cell_has_its_own_baseline() -> None:
    judgement = judge(make_recording(axes={"features": (512, 1024)}, num_launches=2))
    for case in judgement.cases:
        for verdict in case.verdicts:
            assert verdict.baseline == case.case.id.replace("mine", "dense")


def test_a_failed_case_carries_its_failure() -> None:
    failure = make_failure(Outcome.OUT_OF_MEMORY)
    judgement = judge(fail_solo(make_recording(num_launches=2), "mine", failure))
    case = judgement.cases[1]
    assert (case.outcome, case.failure) == (Outcome.OUT_OF_MEMORY, failure)
    assert (case.primary, case.phases, case.summaries, case.num_launches) == (None, (), (), 0)
    assert case.parameters is None


def test_a_case_that_fails_later_keeps_what_it_measured() -> None:
    case = judge(fail_lane(make_recording(num_launches=3), "mine", launch=0, keep=0)).cases[1]
    assert (case.outcome, case.num_launches, case.primary) == (Outcome.CRASHED, 2, "step")


def test_nothing_measured_yet() -> None:
    recording = make_recording()
    for case in judge(msgspec.structs.replace(recording, solos=(), launches=())).cases:
        assert (case.outcome, case.failure, case.primary, case.phases) == (None, None, None, ())


def test_another_policy_gives_other_verdicts_from_the_same_recording() -> None:
    recording = make_recording(
        variants={"dense": 1.0, "mine": 1.05}, num_launches=8, policy=Policy(margin=0.01)
    )
    strict, lenient = judge(recording), judge(recording, Policy(margin=0.2, confidence=0.9))
    kinds = [judgement.cases[1].verdict for judgement in (strict, lenient)]
    assert [verdict.kind for verdict in kinds if verdict] == [VerdictKind.SLOWER, VerdictKind.EQUIVALENT]
    assert lenient.cases[1].summaries[0].median.confidence == 0.9
    assert kinds[1] is not None
    assert kinds[1].policy.margin == 0.2


def test_one_launch_is_labelled_everywhere() -> None:
    judgement = judge(make_recording(num_launches=1))
    methods = {summary.median.method for case in judgement.cases for summary in case.summaries}
    assert methods == {Method.BOOTSTRAP_BLOCKS}


def test_rounds_are_the_median_of_the_launches() -> None:
    recording = make_recording(num_launches=3, num_rounds=8, layout=FORWARD)
    keep = {0: 8, 1: 5, 2: 3}

    def cut(number: int, lane: LaneTrial) -> LaneTrial:
        samples = tuple(
            msgspec.structs.replace(sample, nanoseconds=sample.nanoseconds[: 8 * keep[number]])
            for sample in lane.samples
        )
        return msgspec.structs.replace(lane, samples=samples, rounds=lane.rounds[: 8 * keep[number]])

    assert [case.num_rounds for case in judge(edit_lanes(recording, cut)).cases] == [5, 5]
    assert [case.num_rounds for case in judge(fail_solo(recording, "mine")).cases] == [8, 0]


def test_a_cell_is_looked_at_as_often_as_its_launches_say() -> None:
    """Decided at a look of the run: the interval has that look's confidence, whoever judges it later."""
    recording = make_recording(num_launches=7, noise=QUIET, settings=Settings(launches=40))
    for policy in (None, Policy(margin=0.2)):
        verdict = judge(recording, policy).cases[1].verdict
        assert verdict is not None
        assert verdict.look == Look(launches=7, early=True, share=0.02)
    longer = make_recording(num_launches=8, noise=QUIET, settings=Settings(launches=40))
    verdict = judge(longer).cases[1].verdict
    assert verdict is not None
    assert verdict.look is not None
    assert not verdict.look.early
    assert verdict.look.share == pytest.approx(0.96)


def test_what_the_audit_takes_away_makes_no_room_for_others() -> None:
    """Variants that cheat are the clearest of discoveries. Among them the threshold for the others would be
    that of a sweep in which half of all comparisons are real."""
    recording = make_recording(
        variants={"dense": 1.0, "cheat": 0.3, "mine": 1.0},
        axes={"cell": range(40)},
        num_launches=6,
        num_rounds=15,
        layout=FORWARD,
        noise=Noise(process=0.05, instance=0.02, round=0.02),
        policy=Policy(margin=0.0),
        settings=Settings(launches=6, stop=False, confirm=0),
        seed=3,
    )
    wrong = frozenset(case.id for case in recording.run.cases if case.variant == "cheat")
    honest = tuple(case for case in recording.run.cases if case.id not in wrong)
    among_themselves = replace(recording, run=replace(recording.run, cases=honest))

    def different(judgement: Judgement) -> set[str]:
        verdicts = [case.verdict for case in judgement.cases if case.verdict and case.case.variant == "mine"]
        return {each.case for each in verdicts if each.kind in (VerdictKind.FASTER, VerdictKind.SLOWER)}

    assert different(judge(recording)), "the example shows it"
    without = different(judge(recording, wrong=wrong))
    assert without == different(judge(among_themselves)) == set()


def test_an_unfinished_run_is_judged_as_at_an_early_look() -> None:
    whole = make_recording(num_launches=8, noise=QUIET, settings=Settings(launches=40))
    for status in (RunStatus.RUNNING, RunStatus.INTERRUPTED):
        cut = replace(whole, run=replace(whole.run, status=status))
        verdict = judge(cut).cases[1].verdict
        assert verdict is not None
        assert verdict.look == Look(launches=8, early=False, share=EARLY_SHARE)


def test_identical_code_is_rarely_called_different() -> None:
    """200 cells of identical code on a noisy machine: the interval misses 1 in about 5 % of them, and a sweep
    that controls its false discoveries calls hardly any of them different."""
    recording = make_recording(
        axes={"cell": range(200)},
        num_launches=6,
        num_rounds=15,
        layout=FORWARD,
        noise=Noise(process=0.05, instance=0.005, round=0.02),
        policy=Policy(margin=0.0),
        settings=Settings(launches=6, stop=False, confirm=0),
        seed=7,
    )
    verdicts = [case.verdict for case in judge(recording).cases if case.verdict]
    ratios = [verdict.ratio for verdict in verdicts if verdict.ratio]
    assert len(verdicts) == len(ratios) == 200
    num_missed = sum(not ratio.low <= 1.0 <= ratio.high for ratio in ratios)
    assert 2 <= num_missed <= 20  # 10 expected, with a standard deviation of 3
    different = [verdict for verdict in verdicts if verdict.kind in (VerdictKind.FASTER, VerdictKind.SLOWER)]
    assert len(different) <= 2  # with 95 % none at all
    taken_back = [verdict for verdict in verdicts if Reason.TOO_MANY_CELLS in verdict.reasons]
    assert len(taken_back) == num_missed - len(different)
