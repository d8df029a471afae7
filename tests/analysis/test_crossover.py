"""Crossovers: told where verdicts change sides, never elsewhere, and not more exactly than is known."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.analysis.crossover import Compared, changes_of_lead, crossovers
from stepmark.analysis.verdict import decide
from stepmark.pipeline import judged
from stepmark.records.estimate import Estimate, Method
from stepmark.records.run import Recording
from stepmark.records.settings import Settings
from stepmark.records.trial import LaunchTrial
from stepmark.records.verdict import VerdictKind
from tests.support.properties import steady
from tests.support.recordings import Noise, make_recording

MARGIN = 0.01


def ratio(point: float, width: float = 1.02) -> Estimate:
    return Estimate(
        point=point,
        low=point / width,
        high=point * width,
        confidence=0.95,
        method=Method.T_LAUNCHES,
        num_launches=10,
    )


def along(*points: float, width: float = 1.02, start: float = 64.0) -> list[Compared]:
    """One ratio after the other, at values that double."""
    estimates = [ratio(point, width) for point in points]
    return [Compared(start * 2.0**n, decide(each, margin=MARGIN), each) for n, each in enumerate(estimates)]


series = st.lists(st.tuples(st.floats(0.3, 3.0), st.floats(1.0, 1.5)), min_size=2, max_size=7).map(
    lambda pairs: [
        Compared(64.0 * 2.0**n, decide(each, margin=MARGIN), each)
        for n, each in enumerate(ratio(*pair) for pair in pairs)
    ]
)


@given(series=series, geometric=st.booleans())
@steady
def test_a_crossover_lies_between_decided_neighbours(series: list[Compared], *, geometric: bool) -> None:
    kinds = {each.value: each.kind for each in series}
    for change in changes_of_lead(series, geometric=geometric):
        assert {kinds[change.low], kinds[change.high]} == {VerdictKind.FASTER, VerdictKind.SLOWER}
        between = [each for each in series if change.low < each.value < change.high]
        assert all(each.kind not in (VerdictKind.FASTER, VerdictKind.SLOWER) for each in between)
        assert (change.at is None) is bool(between)
        if change.at is not None and change.at_low is not None and change.at_high is not None:
            low, high = change.low * (1.0 - 1e-9), change.high * (1.0 + 1e-9)
            assert low <= change.at_low <= change.at <= change.at_high <= high


@given(series=series)
@steady
def test_leads_change_as_often_as_decided_verdicts_do(series: list[Compared]) -> None:
    decided = [each.kind for each in series if each.kind in (VerdictKind.FASTER, VerdictKind.SLOWER)]
    turns = sum(one is not other for one, other in pairwise(decided))
    assert len(list(changes_of_lead(series, geometric=True))) == turns


def test_the_point_is_where_the_ratio_is_one_on_the_axis_that_fits() -> None:
    (change,) = changes_of_lead(along(0.5, 2.0), geometric=True)
    assert change.at == pytest.approx(64.0 * math.sqrt(2.0))
    (change,) = changes_of_lead(along(0.5, 2.0), geometric=False)
    assert change.at == pytest.approx(96.0)
    assert change.rising


def test_verdicts_that_decide_nothing_leave_only_the_stretch() -> None:
    (change,) = changes_of_lead(along(0.8, 1.0, 1.3), geometric=True)
    assert (change.low, change.high, change.at) == (64.0, 256.0, None)


def test_an_advantage_that_ends_is_no_crossover() -> None:
    assert not list(changes_of_lead(along(0.8, 0.9, 1.0, 1.0), geometric=True))


def recorded(factors: dict[float, dict[str, float]]) -> Recording:
    """Cells along an axis with true factors of their own, as one run."""
    axes = {"features": tuple(int(value) for value in factors)}
    names = dict.fromkeys(next(iter(factors.values())), 1.0)
    unconfirmed = Settings(launches=8, confirm=0)
    whole = make_recording(variants=names, axes=axes, num_launches=1, settings=unconfirmed)
    launches: list[LaunchTrial] = []
    for place, (value, variants) in enumerate(factors.items()):
        one = make_recording(
            variants=variants,
            axes={"features": (int(value),)},
            num_launches=8,
            num_rounds=15,
            noise=Noise(process=0.03, instance=0.002, round=0.005),
            seed=place,
        )
        launches += one.launches
    run = whole.run
    return Recording(run=run, solos=whole.solos, launches=tuple(launches))


def test_a_run_tells_who_overtakes_whom_where() -> None:
    recording = recorded(
        {
            64.0: {"dense": 1.0, "mine": 1.3, "other": 2.0},
            256.0: {"dense": 1.0, "mine": 0.7, "other": 0.9},
            1024.0: {"dense": 1.0, "mine": 0.7, "other": 0.5},
        }
    )
    judgement = judged(recording)
    found = crossovers(judgement)
    primary = {(each.before, each.after): each for each in found if each.phase == "step"}
    assert set(primary) == {("dense", "mine"), ("dense", "other")}
    mine = primary["dense", "mine"]
    assert (mine.low, mine.high) == (64.0, 256.0)
    assert mine.at is not None
    assert 64.0 < mine.at < 256.0
    assert dict(mine.fixed)["device"] == "cpu"
    assert "features" not in dict(mine.fixed)
    both = {(each.before, each.after) for each in crossovers(judgement, recording) if each.phase == "step"}
    assert both == {*primary, ("mine", "other")}


def test_equal_variants_never_overtake_each_other() -> None:
    recording = make_recording(
        variants={"dense": 1.0, "twin": 1.0, "third": 1.0},
        axes={"features": (64, 128, 256, 512)},
        num_launches=6,
    )
    assert crossovers(judged(recording), recording) == ()
