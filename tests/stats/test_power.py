"""The smallest effect that is seen, and the launches a question needs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import stdtrit
from scipy.stats import nct

from stepmark.stats.power import detectable, needed, needed_inside
from tests.support.properties import steady

deviations = st.floats(1e-5, 0.5)
confidences = st.sampled_from([0.9, 0.95, 0.99, 0.999])


@steady
@given(deviations, st.integers(2, 2000), st.integers(1, 2000), confidences)
def test_more_launches_see_smaller_effects(deviation: float, num: int, more: int, confidence: float) -> None:
    fewer = detectable(deviation, num, confidence=confidence)
    assert detectable(deviation, num + more, confidence=confidence) < fewer < math.inf


@steady
@given(deviations, st.integers(2, 200), st.floats(0.1, 10.0))
def test_twice_the_noise_hides_twice_the_effect(deviation: float, num: int, factor: float) -> None:
    plain = detectable(deviation, num, confidence=0.95)
    assert detectable(factor * deviation, num, confidence=0.95) == pytest.approx(factor * plain)


@steady
@given(deviations, st.integers(2, 200))
def test_more_certainty_sees_less(deviation: float, num: int) -> None:
    effects = [detectable(deviation, num, confidence=c, power=p) for c, p in ((0.95, 0.8), (0.99, 0.8))]
    assert effects[0] < effects[1]
    assert effects[0] < detectable(deviation, num, confidence=0.95, power=0.9)


def test_one_launch_sees_nothing() -> None:
    assert detectable(0.01, 1, confidence=0.95) == math.inf


@pytest.mark.parametrize("num", [10, 20, 40, 100])
@pytest.mark.parametrize("confidence", [0.95, 0.999])
def test_from_ten_launches_on_the_effect_is_within_5_per_cent_of_the_exact_one(
    num: int, confidence: float
) -> None:
    """Exact by the noncentral t distribution: the chance that the interval's bound is beyond 0 is 0.8."""
    bound = float(stdtrit(num - 1, 0.5 + confidence / 2.0))

    def lacking(effect: float) -> float:
        return float(nct.sf(bound, num - 1, effect * math.sqrt(num))) - 0.8

    exact = brentq(lacking, 0.01, 10.0)
    assert detectable(1.0, num, confidence=confidence) == pytest.approx(exact, rel=0.05)


def test_by_hand() -> None:
    # t(9, 0.975) = 2.262157, t(9, 0.8) = 0.883404
    assert detectable(0.01, 10, confidence=0.95) == pytest.approx(
        0.01 * (2.262157 + 0.883404) / math.sqrt(10.0), rel=1e-6
    )


@steady
@given(deviations, st.floats(1e-4, 1.0), confidences)
def test_what_is_needed_is_enough_and_one_less_is_not(
    deviation: float, distance: float, confidence: float
) -> None:
    num = needed(deviation, distance, confidence=confidence)
    if num is None:
        assert detectable(deviation, 100_000, confidence=confidence) > distance
        return
    assert detectable(deviation, num, confidence=confidence) <= distance
    assert num == 2 or detectable(deviation, num - 1, confidence=confidence) > distance


@steady
@given(deviations, st.floats(1e-4, 1.0), st.integers(2, 500))
def test_no_advice_beyond_the_most(deviation: float, distance: float, most: int) -> None:
    num = needed(deviation, distance, confidence=0.95, most=most)
    assert num is None or 2 <= num <= most
    unlimited = needed(deviation, distance, confidence=0.95)
    assert num == (unlimited if unlimited is not None and unlimited <= most else None)


@pytest.mark.parametrize("distance", [0.0, -0.01])
def test_on_the_edge_no_number_is_enough(distance: float) -> None:
    assert needed(0.01, distance, confidence=0.95) is None


def test_without_noise_two_launches_are_enough() -> None:
    assert needed(0.0, 1e-9, confidence=0.95) == 2


inside = st.floats(-0.99, 0.99)
"""Of the margin."""


@steady
@given(deviations, inside, st.floats(0.001, 0.1), confidences)
def test_two_edges_need_more_than_one_and_no_more_than_both_apart(
    deviation: float, place: float, margin: float, confidence: float
) -> None:
    """At least as many as the nearer edge alone; as many as keep either edge in nine cases of ten suffice."""
    point = place * margin
    num = needed_inside(deviation, point, margin=margin, confidence=confidence)
    distance = margin - abs(point)
    enough = needed(deviation, distance, confidence=confidence, power=0.9 + 1e-9)
    if num is None:
        assert enough is None
        return
    least = needed(deviation, distance, confidence=confidence, power=0.8 - 1e-9)
    assert least is not None
    assert least <= num <= (enough or num)


@steady
@given(deviations, inside, st.floats(0.001, 0.1))
def test_both_sides_of_one_are_alike_and_nearer_the_edge_is_harder(
    deviation: float, place: float, margin: float
) -> None:
    def num(point: float) -> float:
        return needed_inside(deviation, point, margin=margin, confidence=0.95) or math.inf

    assert num(place * margin) == num(-place * margin)
    assert num(0.5 * place * margin) <= num(place * margin)


def test_in_the_middle_of_the_margin_each_edge_may_miss_one_time_in_ten() -> None:
    num = needed_inside(0.01, 0.0, margin=0.01, confidence=0.95)
    assert num == pytest.approx(needed(0.01, 0.01, confidence=0.95, power=0.9), abs=1)


def test_nothing_fits_outside_and_without_noise_two_launches_do() -> None:
    assert needed_inside(0.01, 0.01, margin=0.01, confidence=0.95) is None
    assert needed_inside(0.0, 0.005, margin=0.01, confidence=0.95) == 2


def test_sixteen_over_the_square() -> None:
    """Lehr's rule for two groups is 16 s^2/d^2 each; for one mean against a line half of it, 8."""
    assert needed(1.0, 0.1, confidence=0.95) == pytest.approx(8 / 0.1**2, rel=0.03)
