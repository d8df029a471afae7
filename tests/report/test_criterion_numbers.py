"""Numbers as Criterion writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.report import criterion_numbers as text
from tests.support.properties import steady

UNITS = {"ps": 1e-12, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (3.0, "3.0000 s"),
        (0.00043678, "436.78 µs"),
        (15.674e-3, "15.674 ms"),
        (0.9999e-9, "999.90 ps"),
        (1e-9, "1.0000 ns"),
        (0.4e-15, "0.0004 ps"),
        (1234.56, "1234.6 s"),
        (12345.67, " 12346 s"),
        (123456.7, "123457 s"),
        (999.996e-6, "1000.00 µs"),  # rounded after the unit is chosen, as Criterion does
    ],
)
def test_times(seconds: float, shown: str) -> None:
    assert text.time(seconds) == shown


@steady
@given(st.floats(1e-12, 1e4))
def test_times_read_back_to_five_digits(seconds: float) -> None:
    shown = text.time(seconds)
    number, unit = shown.split()
    assert float(number) * UNITS[unit] == pytest.approx(seconds, rel=5.1e-5)
    assert len(shown.removesuffix(f" {unit}")) >= 6


@pytest.mark.parametrize(
    ("per_second", "shown"),
    [
        (75.022e6, "75.022 Melem/s"),
        (1500.0, "1.5000 Kelem/s"),
        (2.5e12, "2500.0 Gelem/s"),
        (12.0, "12.000  elem/s"),
    ],
)
def test_rates(per_second: float, shown: str) -> None:
    assert text.rate(per_second) == shown


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [(0.036342, "+3.6342%"), (-0.072627, "-7.2627%"), (1.3091, "+130.91%"), (0.0, "+0.0000%")],
)
def test_changes_are_signed(fraction: float, shown: str) -> None:
    assert text.change(fraction) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (1, "1"),
        (9_999, "9999"),
        (10_000, "10k"),
        (15_150, "15k"),
        (999_999, "1000k"),
        (1_234_567, "1.2M"),
        (12_345_678, "12M"),
        (1_200_000_000, "1.2B"),
        (45_000_000_000, "45B"),
        (1_500_000_000_000, "1500B"),
    ],
)
def test_iterations(number: int, shown: str) -> None:
    assert text.iterations(number) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(5.0, "5.0s"), (9.258, "9.3s"), (0.5, "500.0ms"), (2e-5, "20.0µs"), (3e-8, "30.0ns")],
)
def test_limits(seconds: float, shown: str) -> None:
    assert text.limit(seconds) == shown
