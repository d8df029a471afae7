"""Verdicts of a case against its baseline: which phases, and when there is nothing to compare."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from stepmark.analysis.judge import judge
from stepmark.records.run import CaseJudgement, Recording
from stepmark.records.sample import Layout, Total
from stepmark.records.settings import Isolation, Settings
from stepmark.records.verdict import Reason, Verdict, VerdictKind
from tests.support.properties import steady
from tests.support.recordings import (
    QUIET,
    Noise,
    fail_lane,
    fail_solo,
    make_recording,
    make_run,
)
from tests.support.trials import FORWARD, OPS, TRAIN, make_lane, make_launch


def judged(recording: Recording, variant: str = "mine") -> CaseJudgement:
    return next(case for case in judge(recording).cases if case.case.variant == variant)


def verdict_of(recording: Recording, variant: str = "mine") -> Verdict:
    verdict = judged(recording, variant).verdict
    assert verdict is not None
    return verdict


def two_layouts(
    baseline: Layout, case: Layout, seconds: Mapping[str, float] | None = None, num_launches: int = 3
) -> Recording:
    """A run whose two variants do not run the same phases; every phase takes a millisecond."""
    run = make_run()
    seconds = seconds or {}
    launches = []
    for number in range(num_launches):
        lanes = [
            make_lane(name, {phase: [seconds.get(phase, 1e-3)] * 4 for phase in layout.phases}, layout=layout)
            for name, layout in (("dense", baseline), ("mine", case))
        ]
        launches.append(make_launch(run.cases[0].cell, lanes, number=number))
    return Recording(run=run, launches=tuple(launches))


@pytest.mark.parametrize(
    ("factor", "kind"),
    [(1.05, VerdictKind.SLOWER), (0.95, VerdictKind.FASTER), (1.0, VerdictKind.EQUIVALENT)],
)
def test_true_factors_are_found(factor: float, kind: VerdictKind) -> None:
    recording = make_recording(variants={"dense": 1.0, "mine": factor}, num_launches=10, num_rounds=40)
    verdict = verdict_of(recording)
    assert (verdict.kind, verdict.reasons) == (kind, ())
    assert verdict.ratio is not None
    assert verdict.ratio.point == pytest.approx(factor, rel=0.005)


@steady
@given(
    st.sampled_from([0.9, 0.98, 1.0, 1.02, 1.1]),
    st.integers(2, 14),
    st.sampled_from([5, 8, 14, 40]),
    st.integers(0, 1000),
)
def test_the_p_value_and_the_verdict_say_the_same(
    factor: float, num_launches: int, most: int, seed: int
) -> None:
    """One comparison, whatever its look's share of alpha: a difference is never taken back, and a chance
    below half of alpha is never left INCONCLUSIVE."""
    recording = make_recording(
        variants={"dense": 1.0, "mine": factor},
        num_launches=num_launches,
        layout=FORWARD,
        settings=Settings(launches=most),
        seed=seed,
    )
    verdict = verdict_of(recording)
    assert verdict.p_value is not None
    different = verdict.kind in (VerdictKind.FASTER, VerdictKind.SLOWER)
    assert verdict.p_value <= 0.05 or not different
    assert different or verdict.p_value >= 0.025
    assert Reason.TOO_MANY_CELLS not in verdict.reasons


@steady
@given(st.integers(2, 14), st.sampled_from([5, 8, 14, 40]), st.booleans(), st.integers(0, 1000))
def test_the_interval_is_that_of_its_look(num_launches: int, most: int, stop: bool, seed: int) -> None:
    settings = Settings(launches=most, stop=stop)
    verdict = verdict_of(make_recording(num_launches=num_launches, settings=settings, seed=seed))
    ratio, look, power = verdict.ratio, verdict.look, verdict.power
    assert ratio is not None
    assert look is not None
    assert power is not None
    assert (look.launches, ratio.num_launches) == (num_launches, num_launches)
    factor = stdtrit(num_launches - 1, 1.0 - 0.05 * look.share / 2.0)
    half = factor * power.deviation / math.sqrt(num_launches)
    assert math.log(ratio.high / ratio.point) == pytest.approx(half, rel=1e-6)
    if not stop:
        assert look.share == 1.0


def test_an_undecided_verdict_says_what_it_would_take() -> None:
    noise = Noise(instance=0.02)
    verdict = verdict_of(make_recording(num_launches=6, noise=noise, settings=Settings(launches=40)))
    assert verdict.kind is VerdictKind.INCONCLUSIVE
    assert verdict.power is not None
    assert verdict.power.needed is not None
    assert verdict.power.needed > 6
    assert verdict.power.seconds == pytest.approx(0.9 * verdict.power.needed)
    assert verdict.power.detectable > 0.01


def test_nothing_to_compare_has_neither_look_nor_power_nor_chance() -> None:
    verdict = verdict_of(fail_solo(make_recording(num_launches=6), "mine"))
    assert (verdict.look, verdict.power, verdict.p_value) == (None, None, None)


def test_one_launch_has_no_power_to_speak_of() -> None:
    verdict = verdict_of(make_recording(num_launches=1))
    assert (verdict.power, verdict.p_value) == (None, None)


def test_confirming_launches_are_not_in_the_ratio() -> None:
    recording = make_recording(num_launches=4, num_confirming=3)
    alone = msgspec.structs.replace(recording, launches=recording.launches[:4])
    assert verdict_of(recording) == verdict_of(alone)


def test_noise_between_instances_is_inconclusive_not_same() -> None:
    recording = make_recording(num_launches=3, noise=Noise(instance=0.05))
    verdict = verdict_of(recording)
    assert verdict.kind is VerdictKind.INCONCLUSIVE
    assert verdict.reasons == (Reason.INTERVAL_CROSSES_MARGIN,)


def test_primary_first_then_display_order_and_never_the_remainder() -> None:
    phases = [verdict.phase for verdict in judged(make_recording(num_launches=2)).verdicts]
    assert phases == ["step", "forward", "loss", "backward", "optimizer"]


def test_totals_have_verdicts() -> None:
    phases = [verdict.phase for verdict in judged(make_recording(num_launches=2, layout=OPS)).verdicts]
    assert phases == ["total", "overhead", "quantize", "matmul", "dequantize"]


def test_one_launch_shows_its_ratio_and_decides_nothing() -> None:
    recording = make_recording(variants={"dense": 1.0, "mine": 2.0}, num_launches=1)
    verdict = verdict_of(recording)
    assert (verdict.kind, verdict.reasons) == (VerdictKind.INCONCLUSIVE, (Reason.ONE_LAUNCH,))
    assert verdict.ratio is not None
    assert verdict.ratio.point == pytest.approx(2.0, rel=0.05)


def test_separate_processes_are_said() -> None:
    recording = make_recording(num_launches=3, noise=QUIET, isolation=Isolation.SEPARATE)
    verdict = verdict_of(recording)
    assert (verdict.kind, verdict.reasons) == (VerdictKind.EQUIVALENT, (Reason.SEPARATE_PROCESSES,))


def test_a_failed_case_has_one_invalid_verdict() -> None:
    case = judged(fail_solo(make_recording(num_launches=2), "mine"))
    assert [verdict.phase for verdict in case.verdicts] == ["step"]
    assert (case.verdicts[0].kind, case.verdicts[0].ratio) == (VerdictKind.INVALID, None)
    assert case.verdicts[0].reasons == (Reason.CASE_FAILED,)


def test_failing_in_company_is_invalid_but_keeps_its_summaries() -> None:
    case = judged(fail_lane(make_recording(num_launches=4), "mine", launch=2, keep=5))
    assert [(verdict.kind, verdict.reasons) for verdict in case.verdicts] == [
        (VerdictKind.INVALID, (Reason.CASE_FAILED,))
    ]
    step = case.summary("step")
    assert step is not None
    assert (case.num_launches, step.num_blocks) == (4, 65)


def test_a_failed_baseline_invalidates_the_others() -> None:
    recording = fail_solo(make_recording(num_launches=2), "dense")
    assert verdict_of(recording).reasons == (Reason.BASELINE_FAILED,)
    assert judged(recording).summaries


def test_both_failed() -> None:
    recording = fail_solo(fail_solo(make_recording(num_launches=2), "dense"), "mine")
    verdict = verdict_of(recording)
    assert verdict.reasons == (Reason.CASE_FAILED, Reason.BASELINE_FAILED)
    assert verdict.phase == ""


def test_not_measured_yet() -> None:
    recording = msgspec.structs.replace(make_recording(), launches=())
    verdict = verdict_of(recording)
    assert (verdict.kind, verdict.reasons) == (VerdictKind.INVALID, (Reason.NOT_MEASURED,))
    assert verdict.phase == "step"


def test_a_baseline_that_is_not_part_of_the_run_is_not_measured() -> None:
    recording = make_recording(num_launches=2)
    run = msgspec.structs.replace(recording.run, cases=recording.run.cases[1:])
    verdict = verdict_of(msgspec.structs.replace(recording, run=run))
    assert verdict.reasons == (Reason.NOT_MEASURED,)
    assert verdict.baseline == recording.run.cases[0].id


def test_a_neighbours_crash_leaves_the_paired_rounds() -> None:
    recording = make_recording(variants={"dense": 1.0, "mine": 1.5, "bad": 1.0}, num_launches=3)
    for variant in ("dense", "mine"):
        recording = fail_lane(recording, variant, launch=1, keep=2)
    launches = tuple(
        msgspec.structs.replace(
            launch, lanes=tuple(msgspec.structs.replace(lane, failure=None) for lane in launch.lanes)
        )
        for launch in recording.launches
    )
    ratio = verdict_of(msgspec.structs.replace(recording, launches=launches)).ratio
    assert ratio is not None
    assert ratio.num_launches == 2


def test_a_run_that_asks_for_fewer_rounds_is_content_with_them() -> None:
    settings = Settings(min_rounds=1, max_rounds=1)
    recording = make_recording(num_launches=3, num_rounds=1, noise=QUIET, settings=settings)
    assert verdict_of(recording).kind is VerdictKind.EQUIVALENT


def test_a_step_with_other_phases_is_not_the_same_step() -> None:
    lazy = Layout(phases=("forward", "loss", "backward", "step"), primary="step", whole="step")
    case = judged(two_layouts(TRAIN, lazy))
    kinds = {verdict.phase: (verdict.kind, verdict.reasons) for verdict in case.verdicts}
    assert next(iter(kinds)) == "step"
    assert kinds.pop("step") == (VerdictKind.INVALID, (Reason.PHASES_DIFFER,))
    assert set(kinds) == {"forward", "loss", "backward"}
    assert set(kinds.values()) == {(VerdictKind.EQUIVALENT, ())}


def test_another_primary_is_not_comparable() -> None:
    inference = Layout(phases=("forward",), primary="forward")
    case = judged(two_layouts(inference, TRAIN))
    assert [(verdict.phase, verdict.kind) for verdict in case.verdicts] == [
        ("step", VerdictKind.INVALID),
        ("forward", VerdictKind.EQUIVALENT),
    ]


def test_operations_may_differ_where_their_totals_are_named_alike() -> None:
    dense = Layout(phases=("matmul",), primary="total", totals=(Total(name="total", parts=("matmul",)),))
    case = judged(two_layouts(dense, OPS))
    assert [verdict.phase for verdict in case.verdicts] == ["total", "matmul"]
    assert case.verdict is not None
    assert case.verdict.kind is VerdictKind.SLOWER
    assert case.verdict.ratio is not None
    assert case.verdict.ratio.point == pytest.approx(3.0)
