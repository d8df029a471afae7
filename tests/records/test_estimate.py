"""Estimates: a point lies in its interval, or there is no estimate."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.records.estimate import Estimate, Method, OutlierCounts
from tests.support.properties import steady

numbers = st.floats(-1e9, 1e9)


def estimate(point: float, low: float, high: float) -> Estimate:
    return Estimate(
        point=point, low=low, high=high, confidence=0.95, method=Method.T_LAUNCHES, num_launches=5
    )


@steady
@given(numbers, numbers, numbers)
def test_the_point_lies_in_the_interval(point: float, low: float, high: float) -> None:
    if low <= point <= high:
        assert (estimate(point, low, high).low, estimate(point, low, high).high) == (low, high)
    else:
        with pytest.raises(ValueError, match="outside its interval"):
            estimate(point, low, high)


def test_no_number_is_no_estimate() -> None:
    with pytest.raises(ValueError, match="outside its interval"):
        estimate(float("nan"), 0.0, 1.0)


def test_the_invariant_is_checked_when_an_estimate_is_read_or_replaced() -> None:
    fine = estimate(1.0, 0.9, 1.1)
    with pytest.raises(ValueError, match="outside its interval"):
        msgspec.structs.replace(fine, high=0.95)
    for encode, decode in (
        (msgspec.json.encode, msgspec.json.decode),
        (msgspec.msgpack.encode, msgspec.msgpack.decode),
    ):
        raw = decode(encode(fine)) | {"low": 2.0}
        with pytest.raises(msgspec.ValidationError, match="outside its interval"):
            decode(encode(raw), type=Estimate)


@steady
@given(st.floats(1e-9, 1e9), st.floats(0.0, 0.99))
def test_half_width_is_relative(point: float, share: float) -> None:
    around = estimate(point, point * (1 - share), point * (1 + share))
    assert around.half_width == pytest.approx(share, abs=1e-12)


def test_a_point_of_zero_has_no_relative_width() -> None:
    assert estimate(0.0, -1.0, 1.0).half_width == 0.0


def test_outliers_are_counted_on_both_sides() -> None:
    assert OutlierCounts().total == 0
    assert OutlierCounts(low_severe=1, low_mild=2, high_mild=3, high_severe=4).total == 10
