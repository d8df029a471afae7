"""What a look at a cell decides, and the share of alpha it is given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.compare import confidence_of
from stepmark.analysis.stopping import look_at, settled
from stepmark.analysis.verdict import decide_bounds
from stepmark.records.settings import Policy, Settings
from stepmark.records.verdict import Look, VerdictKind
from stepmark.stats.arrays import FloatArray
from stepmark.stats.ratio import ratio_of_centres
from stepmark.stats.sequential import EARLY, EARLY_SHARE, NUM_EARLY, looks, share
from tests.support.properties import samples, steady

POLICY = Policy(margin=0.01, confidence=0.95)
INSIDE = np.array([0.0001, -0.0001, 0.0, 0.0001, 0.0])
BEYOND = np.array([0.05, 0.0502, 0.0499, 0.05, 0.0501])
UNCLEAR = np.array([0.005, 0.02, 0.012, 0.008, 0.015])

centres = st.sampled_from([INSIDE, BEYOND, UNCLEAR]) | samples(
    st.floats(-0.03, 0.03), min_size=1, max_size=12
)
cells = st.lists(centres, max_size=4)
most_launches = st.integers(1, 200)


@steady
@given(cells, st.integers(0, 200), most_launches, st.booleans())
def test_a_cell_ends_early_only_at_a_look_and_only_where_all_is_decided(
    variants: list[FloatArray], num: int, most: int, stop: bool
) -> None:
    settings = Settings(launches=most, stop=stop)
    look = look_at(variants, num, settings=settings, policy=POLICY, num_comparisons=1)
    expected = stop and num in looks(most) and settled(variants, policy=POLICY, num_comparisons=1)
    assert (look.launches, look.early) == (num, expected)


@steady
@given(cells, st.integers(0, 200), most_launches)
def test_an_early_look_has_an_early_looks_share_and_the_last_has_the_rest(
    variants: list[FloatArray], num: int, most: int
) -> None:
    look = look_at(variants, num, settings=Settings(launches=most), policy=POLICY, num_comparisons=1)
    assert look.share == share(num, most=most, last=not look.early)
    before = [count for count in looks(most) if (count < num if look.early else count <= num)]
    assert len(before) * EARLY / NUM_EARLY + look.share <= 1.0 + 1e-12, "with the looks before it"


@steady
@given(cells, st.integers(0, 200), most_launches)
def test_what_ends_a_cell_early_is_decided_by_the_interval_that_is_shown(
    variants: list[FloatArray], num: int, most: int
) -> None:
    look = look_at(variants, num, settings=Settings(launches=most), policy=POLICY, num_comparisons=1)
    if not look.early:
        return
    for each in variants:
        interval = ratio_of_centres(each, confidence=confidence_of(look, POLICY))
        kind = decide_bounds(float(interval.low), float(interval.high), margin=POLICY.margin)
        assert kind is not VerdictKind.INCONCLUSIVE


@steady
@given(cells, centres)
def test_a_cell_is_settled_when_each_of_its_variants_is(
    variants: list[FloatArray], another: FloatArray
) -> None:
    def is_settled(chosen: list[FloatArray]) -> bool:
        return settled(chosen, policy=POLICY, num_comparisons=1)

    assert is_settled([*variants, another]) == (
        is_settled([another]) and (not variants or is_settled(variants))
    )


@steady
@given(cells, most_launches)
def test_a_run_that_is_told_not_to_stop_has_one_look_with_all_of_alpha(
    variants: list[FloatArray], most: int
) -> None:
    look = look_at(
        variants, 5, settings=Settings(launches=most, stop=False), policy=POLICY, num_comparisons=1
    )
    assert (look.early, look.share) == (False, 1.0)


@steady
@given(cells, st.integers(0, 200), most_launches, st.booleans())
def test_a_run_that_may_go_on_is_looked_at_with_an_early_looks_share(
    variants: list[FloatArray], num: int, most: int, stop: bool
) -> None:
    def look(*, ended: bool) -> Look:
        settings = Settings(launches=most, stop=stop)
        return look_at(variants, num, settings=settings, policy=POLICY, num_comparisons=1, ended=ended)

    open_look, last = look(ended=False), look(ended=True)
    if num >= most or last.early:
        assert open_look == last, "nothing more will come of this cell"
    else:
        assert open_look == replace(last, share=EARLY_SHARE)


@pytest.mark.parametrize(
    ("each", "decided"),
    [
        (INSIDE, True),
        (BEYOND, True),
        (-BEYOND, True),
        (UNCLEAR, False),
        (np.array([0.5]), False),
        (np.array([]), False),
        (np.array([0.5, np.nan, 0.5]), False),
    ],
)
def test_examples(each: FloatArray, decided: bool) -> None:
    assert settled([each], policy=POLICY, num_comparisons=1) is decided
    assert look_at([each], 5, settings=Settings(), policy=POLICY, num_comparisons=1).early is decided
    assert not look_at([each], 6, settings=Settings(), policy=POLICY, num_comparisons=1).early, "6 is no look"


def test_nothing_to_compare_is_never_decided() -> None:
    assert not settled([], policy=POLICY, num_comparisons=1)


def test_an_early_look_demands_more_than_a_last_one() -> None:
    clear_at_95 = np.array([0.02, 0.021, 0.017, 0.023, 0.025])
    interval = ratio_of_centres(clear_at_95, confidence=0.95)
    assert interval.low > 1.01
    assert not settled([clear_at_95], policy=POLICY, num_comparisons=1)


def test_another_margin_of_the_run_decides_otherwise() -> None:
    wide = Policy(margin=0.1)
    assert settled([UNCLEAR], policy=wide, num_comparisons=1)
    assert settled([BEYOND, UNCLEAR], policy=wide, num_comparisons=1)


def test_among_many_comparisons_a_difference_needs_more_and_sameness_does_not() -> None:
    slow = np.array([0.03, 0.031, 0.029, 0.030, 0.0305])
    same = np.array([0.0, 0.0002, -0.0002, 0.0001, -0.0001])

    def is_settled(centres: FloatArray, num_comparisons: int) -> bool:
        return settled([centres], policy=POLICY, num_comparisons=num_comparisons)

    assert is_settled(slow, 1)
    assert not is_settled(slow, 1_000_000)
    assert is_settled(same, 1_000_000)
