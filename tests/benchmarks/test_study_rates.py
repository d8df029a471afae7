"""Rates and smallest effects of the study."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.verdicts.rates import LEAST, rate, smallest_effect, threshold

LOGS = st.lists(st.floats(-0.5, 0.5), min_size=LEAST, max_size=60)


@given(LOGS)
def test_at_most_one_in_twenty_exceeds_the_threshold(logs: list[float]) -> None:
    values = np.array(logs)
    limit = threshold(values)
    assert np.count_nonzero(np.abs(values) > limit) <= 0.05 * values.size
    assert limit in np.abs(values)


@given(LOGS)
def test_a_larger_shift_than_the_smallest_effect_is_found_in_four_of_five(logs: list[float]) -> None:
    values = np.array(logs)
    effect = smallest_effect(logs, np.random.default_rng(0))
    assert effect is not None
    shifted = values + math.log1p(effect.value) + 1e-9
    assert np.count_nonzero(shifted > threshold(values)) >= 0.8 * values.size


def test_the_smallest_effect_of_evenly_spread_estimates() -> None:
    logs = [place / 1000.0 for place in range(-20, 20)]  # -2 % to 1.9 %
    effect = smallest_effect(logs, np.random.default_rng(0))
    assert effect is not None
    assert threshold(np.array(logs)) == pytest.approx(0.019)  # two of forty may be outside
    assert math.log1p(effect.value) == pytest.approx(0.019 + 0.012)  # the ninth lowest is -1.2 %
    assert effect.low <= effect.value
    assert effect.of == 40


def test_too_few_comparisons_have_no_smallest_effect() -> None:
    assert smallest_effect([0.0] * (LEAST - 1), np.random.default_rng(0)) is None


@given(st.lists(st.booleans(), max_size=50))
def test_a_rate_lies_in_its_interval(hits: list[bool]) -> None:
    found = rate(hits)
    assert (found.num, found.of) == (sum(hits), len(hits))
    if hits:
        assert found.low <= found.value <= found.high
