"""The spread between runs, from groups of unchanged code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.between_runs import Group, between_runs
from tests.support.properties import samples, steady

levels = samples(st.floats(-1.0, 1.0), min_size=2, max_size=6)


def group(values: object, error: float = 0.0) -> Group:
    array = np.asarray(values, dtype=np.float64)
    return Group(levels=array, errors=np.full(array.size, error))


@steady
@given(st.lists(levels, min_size=1, max_size=4), st.floats(0.0, 1.0))
def test_never_negative_and_never_more_than_was_seen(values: list[np.ndarray], error: float) -> None:
    found = between_runs([group(each, error) for each in values])
    assert found is not None
    assert 0.0 <= found.variance <= found.total
    assert found.degrees == sum(each.size - 1 for each in values)


@steady
@given(st.lists(levels, min_size=2, max_size=4), st.floats(-5.0, 5.0))
def test_a_change_of_the_code_is_no_spread(values: list[np.ndarray], shift: float) -> None:
    """Groups are centred each by itself: one may be twice as fast as another."""
    plain = between_runs([group(each) for each in values])
    moved = between_runs([group(each + number * shift) for number, each in enumerate(values)])
    assert plain is not None
    assert moved is not None
    assert moved.total == pytest.approx(plain.total, abs=1e-9)


def test_one_run_of_each_code_tells_nothing() -> None:
    assert between_runs([group([0.1]), group([0.9])]) is None
    assert between_runs([]) is None


def test_example_by_hand() -> None:
    # squares 2 and 8, degrees 2 and 1: 10 / 3; explained (0.5 * 2 + 2 * 1) / 3 = 1
    found = between_runs([group([1.0, 2.0, 3.0], 0.5), group([0.0, 4.0], 2.0), group([7.0], 99.0)])
    assert found is not None
    assert found.total == pytest.approx(10.0 / 3.0)
    assert found.variance == pytest.approx(10.0 / 3.0 - 1.0)
    assert found.degrees == 3.0


def test_the_estimate_is_right_on_average() -> None:
    """Runs wander by 2 %, launches by 3 %: 400 groups of 4 runs of 5 launches."""
    generator = np.random.default_rng(20270115)
    launches = generator.normal(0.0, 0.02, (400, 4, 1)) + generator.normal(0.0, 0.03, (400, 4, 5))
    groups = [Group(levels=each.mean(axis=-1), errors=each.var(axis=-1, ddof=1) / 5) for each in launches]
    found = between_runs(groups)
    assert found is not None
    assert found.variance**0.5 == pytest.approx(0.02, rel=0.1)
