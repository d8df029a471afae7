"""Benjamini and Hochberg's discoveries, and p-values against the margin."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from stepmark.stats.arrays import FloatArray
from stepmark.stats.fdr import above_zero, beyond_margin, discoveries
from stepmark.stats.student import t_interval
from tests.support.properties import samples, steady

chances = st.floats(0.0, 1.0)
p_values = samples(chances | st.floats(0.0, 0.01), min_size=0, max_size=30)
rates = st.sampled_from([0.01, 0.05, 0.2])


def by_definition(values: FloatArray, rate: float) -> list[bool]:
    """The k smallest, for the largest k with p[k] <= rate k / m."""
    ordered = np.sort(values)
    fine = [k for k in range(1, values.size + 1) if ordered[k - 1] <= rate * k / values.size]
    return [bool(value <= ordered[max(fine) - 1]) for value in values] if fine else [False] * values.size


@steady
@given(p_values, rates)
def test_they_are_those_of_the_definition(values: FloatArray, rate: float) -> None:
    # a p-value exactly on a step may fall either way by rounding
    steps = rate * np.arange(1, values.size + 1) / max(values.size, 1)
    assume(not np.isclose(values[:, None], steps, rtol=1e-9, atol=0.0).any())
    assert discoveries(values, rate=rate).tolist() == by_definition(values, rate)


@steady
@given(p_values, rates)
def test_never_more_than_one_by_one_nor_fewer_than_by_bonferroni(values: FloatArray, rate: float) -> None:
    found = discoveries(values, rate=rate)
    assert not (found & (values > rate)).any()
    assert found[values < rate / max(values.size, 1) * (1.0 - 1e-9)].all()


@steady
@given(p_values, st.randoms(use_true_random=False))
def test_the_order_of_the_comparisons_does_not_matter(values: FloatArray, random: Random) -> None:
    order = list(range(values.size))
    random.shuffle(order)
    assert discoveries(values[order], rate=0.05).tolist() == discoveries(values, rate=0.05)[order].tolist()


@steady
@given(samples(chances, min_size=1), st.data())
def test_stronger_evidence_never_loses_a_discovery(values: FloatArray, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, values.size - 1))
    stronger = values.copy()
    stronger[place] *= data.draw(chances)
    assert (discoveries(stronger, rate=0.05) >= discoveries(values, rate=0.05)).all()


def test_one_comparison_needs_no_correction() -> None:
    assert discoveries(np.array([0.05]), rate=0.05).tolist() == [True]
    assert discoveries(np.array([0.051]), rate=0.05).tolist() == [False]
    assert discoveries(np.array([]), rate=0.05).tolist() == []


def test_by_hand() -> None:
    # of 4 at 5 %: steps 0.0125, 0.025, 0.0375, 0.05; the third is on its step's right side
    assert discoveries(np.array([0.03, 0.9, 0.01, 0.026]), rate=0.05).tolist() == [True, False, True, True]
    assert discoveries(np.array([0.03, 0.9, 0.5, 0.4]), rate=0.05).tolist() == [False] * 4


@steady
@given(samples(st.floats(-0.2, 0.2), min_size=2, max_size=12))
def test_without_a_margin_it_is_students_test(centres: FloatArray) -> None:
    assume(float(centres.std(ddof=1)) > 1e-6)
    error = float(centres.std(ddof=1)) / math.sqrt(centres.size)
    p = beyond_margin(float(centres.mean()), error, centres.size, margin=0.0)
    assert p == pytest.approx(float(ttest_1samp(centres, 0.0).pvalue), rel=1e-6)


@steady
@given(samples(st.floats(-0.2, 0.2), min_size=2, max_size=12), st.floats(0.0, 0.1), rates)
def test_the_p_value_and_the_interval_agree(centres: FloatArray, margin: float, alpha: float) -> None:
    """An interval has half of alpha on either side, a p-value counts both edges: between half of alpha and
    alpha, where the error is not small against the margin, the interval is the bolder of the two."""
    interval = t_interval(centres, confidence=1.0 - alpha)
    error = float(centres.std(ddof=1)) / math.sqrt(centres.size)
    p = beyond_margin(float(interval.point), error, centres.size, margin=margin)
    if interval.low > margin + 1e-9 or interval.high < -margin - 1e-9:
        assert p < alpha
    elif p < alpha / 2.0 - 1e-6:
        assert interval.low >= margin - 1e-9 or interval.high <= -margin + 1e-9


@steady
@given(st.floats(-1.0, 1.0), st.floats(1e-6, 1.0), st.integers(2, 100), st.floats(0.0, 0.1))
def test_faster_and_slower_are_treated_alike(point: float, error: float, num: int, margin: float) -> None:
    p = beyond_margin(point, error, num, margin=margin)
    assert p == beyond_margin(-point, error, num, margin=margin)
    assert 0.0 <= p <= 1.0
    assert p == 1.0 or abs(point) > margin


@steady
@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(1e-3, 1.0), st.integers(2, 100))
def test_further_beyond_is_less_likely(one: float, other: float, error: float, num: int) -> None:
    near, far = sorted((one, other))
    assert beyond_margin(far, error, num, margin=0.01) <= beyond_margin(near, error, num, margin=0.01)


def test_without_noise_any_excess_is_certain() -> None:
    assert beyond_margin(0.02, 0.0, 5, margin=0.01) == 0.0
    assert beyond_margin(0.01, 0.0, 5, margin=0.01) == 1.0


def test_one_launch_is_no_evidence() -> None:
    assert beyond_margin(3.0, 0.0, 1, margin=0.01) == 1.0


def test_a_p_value_by_hand() -> None:
    # 4 degrees of freedom: t = 2 from the nearer edge, 4 from the other
    assert beyond_margin(0.03, 0.01, 5, margin=0.01) == pytest.approx(0.0580582 + 0.0080650, rel=1e-5)


@steady
@given(samples(st.floats(-0.2, 0.2), min_size=2, max_size=12))
def test_above_zero_is_students_test_of_one_side(centres: FloatArray) -> None:
    assume(float(centres.std(ddof=1)) > 1e-6)
    error = float(centres.std(ddof=1)) / math.sqrt(centres.size)
    p = above_zero(float(centres.mean()), error, centres.size)
    assert p == pytest.approx(float(ttest_1samp(centres, 0.0, alternative="greater").pvalue), rel=1e-6)
    assert p + above_zero(-float(centres.mean()), error, centres.size) == pytest.approx(1.0)


def test_above_zero_without_noise_or_launches() -> None:
    assert above_zero(1e-9, 0.0, 5) == 0.0
    assert above_zero(0.0, 0.0, 5) == 1.0
    assert above_zero(-1e-9, 0.0, 5) == 1.0
    assert above_zero(9.0, 0.0, 1) == 1.0
