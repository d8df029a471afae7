"""Where the variance of a launch's centre lives, and the rounds that make the most of a second."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray, deviation, pad
from stepmark.stats.variance import FLOOR, TRUSTED, Z, best_rounds, between_launches, error_of_median
from tests.support.properties import numbers, samples, steady

costs = st.floats(0.001, 10.0)
errors = st.floats(0.0, 1.0)


@steady
@given(samples(min_size=2), numbers, st.floats(0.01, 100.0))
def test_the_error_of_a_median_moves_with_the_scale_and_not_with_the_place(
    values: FloatArray, shift: float, factor: float
) -> None:
    plain = error_of_median(values)
    assert error_of_median(factor * values + shift) == pytest.approx(factor * plain, rel=1e-6, abs=1e-5)


@steady
@given(samples(min_size=2), st.randoms(use_true_random=False))
def test_the_order_of_the_rounds_does_not_matter(values: FloatArray, random: Random) -> None:
    shuffled = values.tolist()
    random.shuffle(shuffled)
    assert error_of_median(np.array(shuffled)) == error_of_median(values)


@steady
@given(samples(min_size=2))
def test_the_error_lies_between_nothing_and_the_range(values: FloatArray) -> None:
    """No further apart than all values, over at least so many ranks."""
    ranks = min(values.size - 1, Z * np.sqrt(values.size))
    most = (values.max() - values.min()) * np.sqrt(values.size) / (2.0 * ranks)
    assert 0.0 <= float(error_of_median(values)) <= most * (1.0 + 1e-9)


@steady
@given(st.lists(samples(), min_size=1, max_size=5))
def test_rows_are_independent_and_what_is_missing_is_absent(rows: list[FloatArray]) -> None:
    together = error_of_median(pad(rows))
    apart = [error_of_median(row) for row in rows]
    np.testing.assert_allclose(together, apart, rtol=1e-12)


def test_one_value_has_no_error_to_speak_of() -> None:
    assert np.isnan(error_of_median(np.array([3.0])))
    assert np.isnan(error_of_median(np.array([[np.nan, np.nan], [np.nan, 1.0]]))).all()


def test_equal_values_have_no_error() -> None:
    assert error_of_median(np.full(7, 0.1)) == 0.0


def test_the_error_by_hand() -> None:
    # 25 values 0..24: 12 -+ 4.9, so the order statistics 7 and 17, ten apart
    assert error_of_median(np.arange(25.0)) == pytest.approx(10.0 * 5.0 / 20.0)
    # 3 values: the whole range over two ranks
    assert error_of_median(np.array([4.0, 1.0, 3.0])) == pytest.approx(3.0 * np.sqrt(3.0) / 4.0)


@pytest.mark.parametrize("num_rounds", [5, 10, 31, 101])
def test_the_error_is_that_of_a_median_of_normal_rounds(num_rounds: int) -> None:
    generator = np.random.default_rng(20270115)
    rows = generator.normal(0.0, 1.0, (4000, num_rounds))
    truth = float(np.median(rows, axis=-1).std())
    # from five rounds the ends are the extremes, and the error is up to 40 % too large; never too small
    assert 0.9 * truth <= float(np.sqrt(np.mean(error_of_median(rows) ** 2))) <= 1.4 * truth


@steady
@given(samples(st.floats(-1.0, 1.0), min_size=2), st.data())
def test_what_rounds_do_not_explain_is_never_more_than_all(centres: FloatArray, data: st.DataObject) -> None:
    own = np.array(data.draw(st.lists(errors, min_size=centres.size, max_size=centres.size)))
    tau = float(between_launches(centres, own))
    assert 0.0 <= tau <= float(deviation(centres)) + 1e-12
    assert between_launches(centres, np.zeros_like(own)) == pytest.approx(float(deviation(centres)))
    assert between_launches(centres, own + 2.0) == 0.0, "rounds explain it all"


def test_the_two_parts_add_up_to_the_whole() -> None:
    # deviation 5, errors 3: launches have 4 of their own
    centres = np.array([-5.0, 5.0]) / np.sqrt(2.0)
    assert between_launches(centres, np.array([3.0, 3.0])) == pytest.approx(4.0)


def test_the_parts_of_a_known_machine_are_found() -> None:
    """tau 0.4 %, sigma 1 %, 49 rounds: seeded, over many pilots the mean square is right."""
    generator = np.random.default_rng(7)
    logs = generator.normal(0.0, 0.004, (500, 30, 1)) + generator.normal(0.0, 0.01, (500, 30, 49))
    found = between_launches(np.median(logs, axis=-1), error_of_median(logs))
    assert float(np.sqrt(np.mean(found**2))) == pytest.approx(0.004, rel=0.1)


@st.composite
def pilots(draw: st.DrawFn) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centres, errors and rounds of a few launches."""
    num = draw(st.integers(2, 8))
    rows = [st.floats(-0.1, 0.1), st.floats(1e-5, 0.05), st.integers(3, 200)]
    centres, own, rounds = (np.array(draw(st.lists(row, min_size=num, max_size=num))) for row in rows)
    return centres, own, rounds.astype(np.float64)


@steady
@given(pilots(), costs, costs, st.floats(1.1, 50.0))
def test_dear_launches_are_longer_and_dear_rounds_fewer(
    pilot: tuple[FloatArray, FloatArray, FloatArray], launch: float, round: float, factor: float
) -> None:
    plain = best_rounds(*pilot, launch_cost=launch, round_cost=round)
    assert best_rounds(*pilot, launch_cost=factor * launch, round_cost=round) == pytest.approx(
        plain * np.sqrt(factor)
    )
    assert best_rounds(*pilot, launch_cost=launch, round_cost=factor * round) == pytest.approx(
        plain / np.sqrt(factor)
    )


@steady
@given(pilots(), costs, costs)
def test_no_other_number_of_rounds_buys_more_for_a_second(
    pilot: tuple[FloatArray, FloatArray, FloatArray], launch: float, round: float
) -> None:
    """The variance of the centre times the cost of the launch, with the parts as the function takes them."""
    centres, own, num_rounds = pilot
    sigma2 = float(np.mean(own**2 * num_rounds))
    tau2 = max(float(between_launches(centres, own)) ** 2, TRUSTED * float(deviation(centres)) ** 2, FLOOR**2)
    best = best_rounds(centres, own, num_rounds, launch_cost=launch, round_cost=round)
    assume(best > 1e-6)

    def price(rounds: float) -> float:
        return (tau2 + sigma2 / rounds) * (launch + rounds * round)

    assert price(best) <= min(price(best * 1.05), price(best / 1.05))


@steady
@given(pilots(), costs, costs, st.integers(2, 4))
def test_variants_that_are_alike_know_no_more_than_one(
    pilot: tuple[FloatArray, FloatArray, FloatArray], launch: float, round: float, num: int
) -> None:
    together = [np.tile(row, (num, 1)) for row in pilot]
    alone = best_rounds(*pilot, launch_cost=launch, round_cost=round)
    assert best_rounds(*together, launch_cost=launch, round_cost=round) == pytest.approx(alone)


def test_variants_are_taken_together() -> None:
    # sigma^2 is the mean of both variants' 0.2 and 0.4 %, tau^2 the mean of what the rounds leave
    own, rounds = np.array([[0.002] * 2, [0.004] * 2]), np.full((2, 2), 25.0)
    centres = np.array([[-0.01, 0.01], [0.0, 0.0]]) / np.sqrt(2.0)
    sigma2, tau2 = 25.0 * (0.002**2 + 0.004**2) / 2.0, (0.01**2 - 0.002**2 - 0.004**2) / 2.0
    found = best_rounds(centres, own, rounds, launch_cost=0.3, round_cost=0.01)
    assert found == pytest.approx(np.sqrt(sigma2 / tau2 * 30.0))


def test_launches_that_differ_by_themselves_should_be_short() -> None:
    own, rounds = np.full(4, 0.002), np.full(4, 30.0)
    alike = best_rounds(np.zeros(4), own, rounds, launch_cost=0.2, round_cost=0.005)
    unlike = best_rounds(np.array([0.0, 0.02, -0.02, 0.01]), own, rounds, launch_cost=0.2, round_cost=0.005)
    assert unlike < alike < np.inf
    # sigma^2 = 30 * 0.002^2, tau at its floor of 0.1 %, costs 40 : 1
    assert alike == pytest.approx(np.sqrt(30 * 0.002**2 / FLOOR**2 * 40))
