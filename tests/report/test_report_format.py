"""Numbers as text: read back within the precision shown, in sensible units, in bounded width."""

from __future__ import annotations

import math
import re
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.records.estimate import Estimate
from stepmark.report import format as show
from tests.report.builder import estimate
from tests.support.properties import steady

FACTORS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
NUMBER = re.compile(r"-?\d+(\.\d+)?")

times = st.floats(min_value=1e-9, max_value=9e3)
widths = st.floats(min_value=0.0, max_value=0.9)
ratios = st.floats(min_value=0.01, max_value=1e3)


@st.composite
def estimates(draw: st.DrawFn, points: st.SearchStrategy[float]) -> Estimate:
    point, below, above = draw(points), draw(widths), draw(widths)
    return estimate(point, point * (1.0 - below), point * (1.0 + above))


def read(text: str) -> float:
    number, _, unit = text.partition(show.NBSP)
    return float(number) * FACTORS[unit]


def step(text: str) -> float:
    """What one unit of the last digit shown stands for."""
    _, _, decimals = text.partition(".")
    return float(10.0 ** -len(decimals))


@steady
@given(estimates(times))
def test_seconds_read_back_within_the_interval_or_two_digits(one: Estimate) -> None:
    back = read(show.seconds(one))
    half = (one.high - one.low) / 2.0
    assert abs(back - one.point) <= max(
        0.15 * half, 0.0501 * one.point if half > one.point / 4 else 5.1e-3 * one.point
    )


@steady
@given(estimates(times))
def test_seconds_show_two_to_four_digits_and_never_an_exponent(one: Estimate) -> None:
    number, _, unit = show.seconds(one).partition(show.NBSP)
    assert NUMBER.fullmatch(number)
    digits = number.replace(".", "").lstrip("0")
    assert 2 <= len(digits) <= 4
    assert len(number) <= 6
    assert unit in FACTORS


@steady
@given(times)
def test_seconds_of_a_bare_number_show_three_digits(value: float) -> None:
    assert abs(read(show.seconds(value)) - value) <= 5.1e-3 * value


@steady
@given(times, times)
def test_units_grow_with_the_time(one: float, other: float) -> None:
    small, large = sorted((one, other))
    order = list(FACTORS)
    units = [show.seconds(value).partition(show.NBSP)[2] for value in (small, large)]
    assert order.index(units[0]) <= order.index(units[1])
    assert read(show.seconds(small)) <= read(show.seconds(large))


@steady
@given(st.lists(times, min_size=1, max_size=6))
def test_shared_unit_keeps_numbers_readable(values: list[float]) -> None:
    unit = show.shared_unit(values)
    for value in values:
        text = show.seconds(value, unit=unit)
        number = text.partition(show.NBSP)[0]
        assert number == "~0" or NUMBER.fullmatch(number)
        if unit:
            assert number != "~0"
            assert len(number) <= 8
            assert abs(float(number) * unit.seconds - value) <= max(5.1e-3 * value, 0.51e-4 * unit.seconds)


def test_shared_unit_by_example() -> None:
    def name(*values: float) -> str | None:
        unit = show.shared_unit(values)
        return unit.name if unit else None

    assert name(1.2e-3, 0.3e-3) == "ms"
    assert name(999e-6, 12e-6) == "µs"
    assert name(3e-6, 2.9e-3) == "µs"
    assert name(3e-6, 2.9) is None
    assert name() is None
    assert name(0.0, 4.0) == "s"


@pytest.mark.parametrize(
    ("point", "low", "high", "text"),
    [
        (1.2341e-3, 1.2292e-3, 1.2390e-3, "1.234 ms"),
        (1.2341e-3, 1.185e-3, 1.283e-3, "1.23 ms"),
        (12.34e-3, 5e-3, 20e-3, "12 ms"),
        (123.4e-3, 80e-3, 170e-3, "120 ms"),
        (999.97e-6, 999.9e-6, 1000.02e-6, "1.000 ms"),
        (-2e-6, -2.6e-6, -1.4e-6, "-2.0 µs"),
        (0.0, 0.0, 0.0, "0 ns"),
        (5000.0, 4900.0, 5100.0, "5000 s"),
    ],
)
def test_seconds_by_example(point: float, low: float, high: float, text: str) -> None:
    assert show.seconds(estimate(point, low, high)).replace(show.NBSP, " ") == text


def test_seconds_too_small_for_the_unit() -> None:
    milliseconds = show.TIME_UNITS[2]
    assert show.seconds(2e-9, unit=milliseconds) == "~0"
    assert show.seconds(-2e-9, unit=milliseconds) == "~0"
    assert show.seconds(0.0, unit=milliseconds) == "0"


@steady
@given(estimates(ratios))
def test_interval_contains_what_was_computed(one: Estimate) -> None:
    low, high = map(float, show.interval(one).strip("[]").split(", "))
    assert low <= one.low <= one.point <= one.high <= high
    half = (one.high - one.low) / 2.0
    assert one.low - low <= max(0.29 * half, 1e-3, 0.1 * (one.low >= 10.0), 1.0 * (one.low >= 100.0), 0.01)


@steady
@given(estimates(ratios))
def test_ratio_reads_back_and_stays_narrow(one: Estimate) -> None:
    text = show.ratio(one)
    number = text.removesuffix("x")
    assert NUMBER.fullmatch(number)
    assert abs(float(number) - one.point) <= 0.5001 * step(number)
    assert len(f"{text} {show.interval(one)}") <= 22


@steady
@given(estimates(st.floats(min_value=0.5, max_value=2.0)))
def test_an_interval_that_leaves_the_margin_is_not_shown_inside_it(one: Estimate) -> None:
    """For edges that the digits can show: 0.99 and 1.01, and values further than rounding from them."""
    low, high = map(float, show.interval(one).strip("[]").split(", "))
    if one.high > 1.01:
        assert high > 1.01
    if one.low < 0.99:
        assert low < 0.99


@pytest.mark.parametrize(
    ("values", "point", "bounds"),
    [
        ((0.8001, 0.7921, 0.8082), "0.800x", "[0.792, 0.809]"),
        ((0.95, 0.90, 1.003), "0.95x", "[0.90, 1.01]"),
        ((0.57, 0.57, 0.57), "0.570x", "[0.570, 0.570]"),
        ((12.0, 1.021, 40.01), "12.0x", "[1.02, 40.1]"),
        ((250.4, 200.2, 300.7), "250x", "[200, 301]"),
        ((0.0000171, 0.0000158, 0.000192), "0.000017x", "[0.000015, 0.00020]"),
        ((0.0042, 0.0, 0.0151), "0.0042x", "[0.000, 0.016]"),
    ],
)
def test_ratio_by_example(values: tuple[float, float, float], point: str, bounds: str) -> None:
    one = estimate(*values)
    assert (show.ratio(one), show.interval(one)) == (point, bounds)


@steady
@given(estimates(times))
def test_plus_minus_reads_back_and_stays_narrow(one: Estimate) -> None:
    text = show.plus_minus(one)
    assert len(text) <= 8
    shown = text.removeprefix("±").partition(show.NBSP)[0]
    width = 100.0 * one.half_width
    if shown.startswith("<"):
        assert width < 0.005
    else:
        assert abs(float(shown) - width) <= 0.5001 * step(shown)


@pytest.mark.parametrize(
    ("half", "text"),
    [
        (0.008, "±0.8 %"),
        (0.0949, "±9.5 %"),
        (0.0996, "±10 %"),
        (0.0004, "±0.04 %"),
        (0.0, "±<0.01 %"),
        (0.5, "±50 %"),
    ],
)
def test_plus_minus_by_example(half: float, text: str) -> None:
    assert show.plus_minus(estimate(2.0, 2.0 - 2 * half, 2.0 + 2 * half)).replace(show.NBSP, " ") == text


def test_plus_minus_around_zero() -> None:
    assert show.plus_minus(estimate(0.0, -1.0, 1.0)) == f"±>999{show.NBSP}%"
    assert show.plus_minus(estimate(-2.0, -3.0, -1.0)) == f"±50{show.NBSP}%"


@steady
@given(st.integers(min_value=0, max_value=10**15))
def test_count_reads_back(number: int) -> None:
    shown, _, prefix = show.count(number).partition(show.NBSP)
    scale = 1000.0 ** " kMGTP".index(prefix or " ")
    assert abs(float(shown) * scale - number) <= 0.051 * number
    assert len(shown) <= 3


@steady
@given(st.integers(min_value=0, max_value=2**50))
def test_size_reads_back(num_bytes: int) -> None:
    shown, _, unit = show.size(num_bytes).partition(show.NBSP)
    scale = 1024.0 ** ("B", "KiB", "MiB", "GiB", "TiB", "PiB").index(unit)
    assert abs(float(shown) * scale - num_bytes) <= 0.051 * num_bytes
    assert len(shown) <= 4


@steady
@given(st.floats(min_value=0.0, max_value=1e6))
def test_duration_reads_back(length: float) -> None:
    words = show.duration(length).split(show.NBSP)
    seconds = {"s": 1.0, "min": 60.0, "h": 3600.0}
    back = sum(float(number) * seconds[unit] for number, unit in zip(words[::2], words[1::2], strict=True))
    assert math.isclose(back, length, rel_tol=0.01, abs_tol=0.051)


def test_the_rest_by_example() -> None:
    texts = [show.percent(0.01), show.percent(0.025), show.percent(0.95), show.size(64 << 30)]
    texts += [show.count(4_196_352), show.count(999_700), show.count(17)]
    texts += [show.duration(92), show.duration(7_500), show.plural(1, "launch"), show.plural(2, "launch")]
    texts += [show.span(8, 10, "round"), show.span(3, 3, "case"), show.superscript(12)]
    assert [text.replace(show.NBSP, " ") for text in texts] == [
        *("1 %", "2.5 %", "95 %", "64 GiB", "4.2 M", "1.0 M", "17"),
        *("1 min 32 s", "2 h 5 min", "1 launch", "2 launches", "8 to 10 rounds", "3 cases", "¹²"),
    ]
    assert show.moment(1_800_000_000.0, zone=UTC) == "2027-01-15 08:00"


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [(0.0034, "0.34 %"), (0.0234, "2.3 %"), (0.117, "12 %"), (1.0, "100 %"), (53.5, "more than 100 %")],
)
def test_an_effect_has_two_digits_and_more_than_a_doubling_has_none(fraction: float, shown: str) -> None:
    assert show.effect(fraction).replace("\u00a0", " ") == shown
