"""A sweep's verdicts: what stands among many comparisons, and what fresh launches confirm."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.judge import judge
from stepmark.analysis.sweep import DIFFERENT, control, flags, launches_to_confirm, wants_confirmation
from stepmark.records.estimate import Estimate, Method
from stepmark.records.settings import Policy, Settings
from stepmark.records.verdict import Power, Reason, Verdict, VerdictKind
from stepmark.stats.arrays import FloatArray
from tests.support.properties import samples, steady
from tests.support.recordings import QUIET, Noise, make_recording
from tests.support.trials import FORWARD

POLICY = Policy(margin=0.01, confidence=0.95)
SLOWER, FASTER = VerdictKind.SLOWER, VerdictKind.FASTER
SLOW, FAST = np.array([0.05, 0.051, 0.049]), np.array([-0.05, -0.051, -0.049])


def verdict(kind: VerdictKind, p_value: float | None = None, reasons: tuple[Reason, ...] = ()) -> Verdict:
    ratio = Estimate(point=1.0, low=0.9, high=1.1, confidence=0.95, method=Method.T_LAUNCHES, num_launches=5)
    return Verdict(
        case="mine",
        baseline="dense",
        phase="step",
        kind=kind,
        policy=POLICY,
        ratio=None if kind is VerdictKind.INVALID else ratio,
        p_value=p_value,
        reasons=reasons,
    )


def slower(p_value: float) -> Verdict:
    return verdict(SLOWER, p_value)


def controlled(
    verdicts: Sequence[Verdict],
    fresh: Sequence[FloatArray | None] | None = None,
    *,
    confirm: int = 0,
) -> list[Verdict]:
    return control(verdicts, fresh or [None] * len(verdicts), policy=POLICY, confirm=confirm)


chances = st.floats(0.0, 1.0) | st.floats(0.0, 0.03)
verdicts = st.one_of(
    st.builds(verdict, st.sampled_from([SLOWER, FASTER]), st.floats(0.0, 0.05)),
    st.builds(verdict, st.sampled_from([VerdictKind.EQUIVALENT, VerdictKind.INCONCLUSIVE]), chances),
    st.just(verdict(VerdictKind.INCONCLUSIVE, None, (Reason.ONE_LAUNCH,))),
    st.just(verdict(VerdictKind.INVALID, None, (Reason.CASE_FAILED,))),
)
sweeps = st.lists(verdicts, max_size=30)
fresh_launches = st.none() | samples(st.floats(-0.1, 0.1), min_size=0, max_size=8)


@steady
@given(sweeps, st.sampled_from([0, 5]), st.data())
def test_control_takes_back_and_never_adds(
    given_ones: list[Verdict], confirm: int, data: st.DataObject
) -> None:
    num = len(given_ones)
    fresh = data.draw(st.lists(fresh_launches, min_size=num, max_size=num))
    for before, after in zip(given_ones, controlled(given_ones, fresh, confirm=confirm), strict=True):
        if before.kind not in DIFFERENT or after.kind is before.kind:
            assert after == before
        else:
            assert after.kind is VerdictKind.INCONCLUSIVE
            assert after.reasons[0] in (
                Reason.TOO_MANY_CELLS,
                Reason.NOT_CONFIRMED,
                Reason.NOT_REMEASURED,
            )
            assert replace(after, kind=before.kind, reasons=after.reasons[1:]) == before, "the rest is kept"


@steady
@given(sweeps, st.data())
def test_confirming_only_takes_back_more(given_ones: list[Verdict], data: st.DataObject) -> None:
    num = len(given_ones)
    fresh = data.draw(st.lists(fresh_launches, min_size=num, max_size=num))
    without, with_it = (controlled(given_ones, fresh, confirm=confirm) for confirm in (False, True))
    for plain, confirmed in zip(without, with_it, strict=True):
        assert confirmed.kind in (plain.kind, VerdictKind.INCONCLUSIVE)


@steady
@given(sweeps)
def test_what_is_flagged_is_what_stands(given_ones: list[Verdict]) -> None:
    stand = flags(given_ones, policy=POLICY)
    after = controlled(given_ones)
    assert [each.kind in DIFFERENT for each in after] == stand


@steady
@given(sweeps, st.lists(st.just(verdict(VerdictKind.EQUIVALENT, 1.0)), max_size=40))
def test_more_comparisons_without_a_difference_make_it_harder(
    given_ones: list[Verdict], others: list[Verdict]
) -> None:
    alone = flags(given_ones, policy=POLICY)
    among = flags([*given_ones, *others], policy=POLICY)[: len(given_ones)]
    assert all(before or not after for before, after in zip(alone, among, strict=True))


@steady
@given(sweeps)
def test_what_could_not_be_compared_is_no_comparison(given_ones: list[Verdict]) -> None:
    invalid = verdict(VerdictKind.INVALID, None, (Reason.BASELINE_FAILED,))
    with_failures = [each for one in given_ones for each in (one, invalid)]
    assert flags(with_failures, policy=POLICY)[::2] == flags(given_ones, policy=POLICY)


def test_by_hand() -> None:
    same = verdict(VerdictKind.EQUIVALENT, 1.0)
    # of 10 at 5 %, the smallest must be below 0.005
    assert controlled([slower(0.004), *[same] * 9])[0].kind is SLOWER
    after = controlled([slower(0.006), *[same] * 9])[0]
    assert (after.kind, after.reasons) == (VerdictKind.INCONCLUSIVE, (Reason.TOO_MANY_CELLS,))
    assert [each.kind for each in controlled([slower(0.006), slower(0.009), *[same] * 8])[:2]] == [SLOWER] * 2


@steady
@given(sweeps, st.floats(0.0, 0.999))
def test_what_is_clear_enough_for_all_of_them_stands_whatever_the_others_say(
    others: list[Verdict], share: float
) -> None:
    """How a look of a sweep decides: with as many times less alpha as there are comparisons."""
    clear = slower(share * 0.05 / (len(others) + 1))
    assert controlled([clear, *others])[0] == clear


@pytest.mark.parametrize(
    ("kind", "fresh", "reason"),
    [
        (SLOWER, SLOW, None),
        (FASTER, FAST, None),
        (SLOWER, FAST, Reason.NOT_CONFIRMED),
        (FASTER, SLOW, Reason.NOT_CONFIRMED),
        (SLOWER, np.array([0.05, -0.04, 0.01]), Reason.NOT_CONFIRMED),
        (SLOWER, np.zeros(5), Reason.NOT_CONFIRMED),
        (SLOWER, np.full(5, 0.001), None),
        (SLOWER, SLOW[:1], Reason.NOT_REMEASURED),
        (SLOWER, np.array([]), Reason.NOT_REMEASURED),
        (SLOWER, None, Reason.NOT_REMEASURED),
    ],
)
def test_fresh_launches_must_be_on_the_same_side(
    kind: VerdictKind, fresh: FloatArray | None, reason: Reason | None
) -> None:
    (after,) = controlled([verdict(kind, 1e-6)], [fresh], confirm=5)
    assert (after.kind, after.reasons) == ((VerdictKind.INCONCLUSIVE, (reason,)) if reason else (kind, ()))


@steady
@given(
    st.sampled_from([SLOWER, FASTER]),
    st.none() | samples(st.floats(-0.1, 0.1), min_size=0, max_size=8),
    st.integers(2, 60),
    st.integers(1, 20),
)
def test_what_lacks_fresh_launches_alone_is_told_how_many_with_those_it_has(
    kind: VerdictKind, fresh: FloatArray | None, made: int, confirm: int
) -> None:
    flagged = verdict(kind, 1e-6)
    assert flagged.ratio is not None
    flagged = replace(
        flagged,
        ratio=replace(flagged.ratio, num_launches=made),
        power=Power(deviation=0.001, detectable=0.02),
    )
    (after,) = controlled([flagged], [fresh], confirm=confirm)
    assert after.power is not None
    if after.kind is kind:
        assert after.power.needed is None
    elif fresh is None or fresh.size < 2:
        assert after.power.needed == made + max(confirm, math.ceil(made / 2))
    elif after.power.needed is None:
        side = 1.0 if kind is SLOWER else -1.0
        assert side * fresh.mean() <= 0.0 or fresh.std() > 10.0 * abs(fresh.mean())
    else:
        assert after.power.needed > made + fresh.size


def test_reasons_that_were_there_stay() -> None:
    apart = verdict(SLOWER, 1e-6, (Reason.SEPARATE_PROCESSES,))
    (after,) = controlled([apart], confirm=5)
    assert after.reasons == (Reason.NOT_REMEASURED, Reason.SEPARATE_PROCESSES)


def test_only_a_sweep_is_confirmed() -> None:
    assert not wants_confirmation(1, Settings())
    assert wants_confirmation(2, Settings())
    assert not wants_confirmation(100, Settings(confirm=0))


@steady
@given(st.dictionaries(st.text(max_size=3), st.integers(0, 200)), st.integers(1, 20))
def test_half_as_many_launches_confirm_and_at_least_what_was_asked(
    measured: dict[str, int], confirm: int
) -> None:
    wanted = launches_to_confirm(measured, Settings(confirm=confirm))
    assert wanted == {cell: max(confirm, math.ceil(num / 2)) for cell, num in measured.items()}


def sweep_of(num_cells: int, **more: object) -> list[Verdict]:
    recording = make_recording(
        axes={"cell": range(num_cells)},
        layout=FORWARD,
        **more,  # type: ignore[arg-type]
    )
    return [case.verdict for case in judge(recording).cases if case.verdict]


def test_a_sweep_without_fresh_launches_calls_nobody_different() -> None:
    found = sweep_of(3, variants={"dense": 1.0, "mine": 1.2}, noise=QUIET, num_launches=4)
    assert {(each.kind, each.reasons) for each in found} == {
        (VerdictKind.INCONCLUSIVE, (Reason.NOT_REMEASURED,))
    }


def test_a_sweep_with_fresh_launches_does() -> None:
    found = sweep_of(
        3, variants={"dense": 1.0, "mine": 1.2}, noise=Noise(instance=0.001), num_launches=4, num_confirming=5
    )
    assert {(each.kind, each.reasons) for each in found} == {(SLOWER, ())}
    assert {each.ratio.num_launches for each in found if each.ratio} == {4}, "fresh launches only confirm"


def test_phases_beside_the_primary_are_not_measured_again() -> None:
    recording = make_recording(
        axes={"cell": range(2)}, variants={"dense": 1.0, "mine": 1.2}, noise=QUIET, num_launches=4
    )
    mine = judge(recording).cases[1]
    assert mine.verdicts[0].reasons == (Reason.NOT_REMEASURED,)
    assert {(each.kind, each.reasons) for each in mine.verdicts[1:]} == {(SLOWER, ())}
