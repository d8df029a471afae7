"""Durations, fractions and shapes as users write them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.errors import UsageError
from stepmark.units import parse_duration, parse_fraction, parse_shape
from tests.support.properties import steady

SECONDS_PER = {
    "": 1.0,
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
}
spaces = st.sampled_from(["", " ", "  "])


@steady
@given(st.decimals(0, 10**6, places=3), st.sampled_from(sorted(SECONDS_PER)), spaces, st.booleans())
def test_a_duration_is_its_number_times_its_unit(number: object, unit: str, space: str, upper: bool) -> None:
    text = f"{space}{number}{space}{unit}{space}"
    assert parse_duration(text.upper() if upper and unit != "µs" else text) == pytest.approx(
        float(str(number)) * SECONDS_PER[unit]
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90.0), ("1.5m", 90.0), ("500ms", 0.5), ("2h", 7200.0), (".5", 0.5), ("3.", 3.0)],
)
def test_durations_users_write(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("number", [0, 1, 60, 0.25, 1e-3])
def test_a_number_is_seconds(number: float) -> None:
    assert parse_duration(number) == number


@pytest.mark.parametrize(
    "text", ["", "s", "1 fortnight", "-1s", "1s2", "nan", "inf", "1e3", "1,5s", "1.2.3s"]
)
def test_what_is_not_a_duration_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration") as caught:
        parse_duration(text)
    assert text in caught.value.problem
    assert "90s" in caught.value.remedy


@steady
@given(st.text())
def test_any_text_is_a_duration_or_a_usage_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse_duration(text) >= 0.0


@pytest.mark.parametrize(
    ("text", "fraction"),
    [("1%", 0.01), ("0.01", 0.01), (" 2.5 % ", 0.025), ("0", 0.0), (".5", 0.5), (0.03, 0.03), (0, 0.0)],
)
def test_fractions_users_write(text: str | float, fraction: float) -> None:
    assert parse_fraction(text) == pytest.approx(fraction)


@steady
@given(st.decimals(0, 99, places=2))
def test_a_per_cent_is_a_hundredth(number: object) -> None:
    assert parse_fraction(f"{number}%") == pytest.approx(float(str(number)) / 100)


@pytest.mark.parametrize("text", ["", "%", "one", "-1%", "1%%", "nan", "1 in 10"])
def test_what_is_not_a_fraction_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a fraction"):
        parse_fraction(text)


@pytest.mark.parametrize("text", ["1", "5", "100%", "1.0"])
def test_a_whole_or_more_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not between 0 and 1") as caught:
        parse_fraction(text)
    assert "1%" in caught.value.remedy


@steady
@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=5), st.sampled_from("xX×"))
def test_a_shape_is_its_sizes_joined(sizes: list[int], cross: str) -> None:
    assert parse_shape(cross.join(map(str, sizes))) == tuple(sizes)


@pytest.mark.parametrize(
    "text", ["", "x", "64x", "x64", "64xx2", "0x4", "-1x2", "64 by 2", "1.5x2", "64x1e3"]
)
def test_what_is_not_a_shape_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a shape") as caught:
        parse_shape(text)
    assert "64x1024" in caught.value.remedy


@pytest.mark.parametrize("number", [1e-5, 5e-7])
def test_small_numbers_are_numbers_too(number: float) -> None:
    assert parse_duration(number) == number
    assert parse_fraction(number) == number


def test_a_superscript_is_no_size() -> None:
    with pytest.raises(UsageError, match="is not a shape"):
        parse_shape("64x2²")
