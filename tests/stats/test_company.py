"""Whether company changes a level: when it is said, and when there is too little to say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from stepmark.stats.arrays import FloatArray
from stepmark.stats.company import CONFIDENCE, TOLERANCE, change_in_company, is_changed
from tests.support.properties import samples, steady

levels = st.floats(1e-6, 1.0)
scattered = st.floats(-0.2, 0.2).map(math.exp)


def some(min_size: int, elements: st.SearchStrategy[float] = levels) -> st.SearchStrategy[FloatArray]:
    return samples(elements, min_size=min_size, max_size=12)


@steady
@given(some(2), some(1))
def test_the_point_lies_in_the_interval(company: FloatArray, alone: FloatArray) -> None:
    point, low, high = change_in_company(company, alone)
    assert low <= point <= high
    assert point == pytest.approx(np.log(company).mean() - np.log(alone).mean())


@steady
@given(some(2), some(1), st.floats(0.01, 100.0))
def test_a_slower_machine_changes_nothing(company: FloatArray, alone: FloatArray, factor: float) -> None:
    plain = change_in_company(company, alone)
    slower = change_in_company(factor * company, factor * alone)
    assert [*slower] == pytest.approx([*plain], rel=1e-4, abs=1e-6)


@steady
@given(some(2, scattered), some(1, scattered), st.floats(0.5, 2.0))
def test_a_factor_in_company_moves_the_interval(
    company: FloatArray, alone: FloatArray, factor: float
) -> None:
    plain = change_in_company(company, alone)
    moved = change_in_company(factor * company, alone)
    assert [*moved] == pytest.approx([edge + math.log(factor) for edge in plain], rel=1e-6, abs=1e-6)


@steady
@given(some(2, scattered), some(2, scattered))
def test_both_directions_are_treated_alike(company: FloatArray, alone: FloatArray) -> None:
    there, back = change_in_company(company, alone), change_in_company(alone, company)
    assert [*there] == pytest.approx([-back.point, -back.high, -back.low], rel=1e-6, abs=1e-9)
    assert is_changed(there) == is_changed(back)


@steady
@given(some(2, scattered), some(2, scattered))
def test_the_interval_is_welchs(company: FloatArray, alone: FloatArray) -> None:
    logs = np.log(company), np.log(alone)
    if min(each.std() for each in logs) < 1e-6:
        return
    expected = ttest_ind(*logs, equal_var=False).confidence_interval(CONFIDENCE)
    change = change_in_company(company, alone)
    assert [change.low, change.high] == pytest.approx([expected.low, expected.high], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("num", "other"), [(0, 5), (1, 5), (5, 0), (0, 0)])
def test_too_little_says_nothing(num: int, other: int) -> None:
    change = change_in_company(np.full(num, 9.0), np.full(other, 1.0))
    assert [float(change.low), float(change.high)] == [-math.inf, math.inf]
    assert not is_changed(change)


def test_one_launch_alone_has_the_spread_of_the_others() -> None:
    # log levels 0, 0.1, 0.2 in company: s = 0.1; alone 0; t(2, 0.995) = 9.924843
    company = np.exp([0.0, 0.1, 0.2])
    change = change_in_company(company, np.array([1.0]))
    assert change.point == pytest.approx(0.1)
    assert change.high - change.point == pytest.approx(9.924843 * 0.1 * math.sqrt(4 / 3), rel=1e-6)


def test_without_any_spread_the_difference_itself_is_known() -> None:
    for num_alone in (1, 5):
        change = change_in_company(np.full(4, 1.2), np.full(num_alone, 1.0))
        assert [*change] == pytest.approx([math.log(1.2)] * 3)
        assert is_changed(change)


@pytest.mark.parametrize(
    ("factor", "changed"), [(1.06, True), (1 / 1.06, True), (1.04, False), (1 / 1.04, False), (1.0, False)]
)
def test_what_a_shared_cache_costs_is_tolerated(factor: float, changed: bool) -> None:
    assert is_changed(change_in_company(np.full(5, factor), np.ones(5))) is changed
    assert math.exp(TOLERANCE) == pytest.approx(1.05)


def test_an_uncertain_change_is_none() -> None:
    noisy = np.exp([-0.2, 0.0, 0.2, 0.1, -0.1])
    assert not is_changed(change_in_company(1.1 * noisy, noisy[:2]))


def test_identical_levels_are_rarely_called_changed() -> None:
    """Process levels of 3 %, five alone and ten in company: 1 % may miss, the tolerance makes it less."""
    generator = np.random.default_rng(20270115)
    found = [
        is_changed(change_in_company(*(np.exp(generator.normal(0.0, 0.03, num)) for num in (10, 5))))
        for _ in range(2000)
    ]
    assert sum(found) <= 5
