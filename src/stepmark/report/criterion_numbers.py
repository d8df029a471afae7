"""Numbers as Criterion writes them: about five digits, each value in the unit that fits it.

The rules are Criterion.rs 0.5.1's, so that a text made here can be
read, searched and compared like one of Criterion's. Stepmark's own are in format.py.
"""

from __future__ import annotations

_TIMES = ((1.0, 1e3, "ps"), (1e3, 1.0, "ns"), (1e6, 1e-3, "µs"), (1e9, 1e-6, "ms"), (float("inf"), 1e-9, "s"))
"""Nanoseconds below the first number are multiplied by the second and shown in the unit."""
_RATES = (
    (1e3, 1.0, " elem/s"),
    (1e6, 1e-3, "Kelem/s"),
    (1e9, 1e-6, "Melem/s"),
    (float("inf"), 1e-9, "Gelem/s"),
)


def time(seconds: float) -> str:
    """`436.78 µs`."""
    return _scaled(seconds * 1e9, _TIMES)


def rate(per_second: float) -> str:
    """`75.022 Melem/s`."""
    return _scaled(per_second, _RATES)


def change(fraction: float) -> str:
    """Always signed: `+3.6342%`."""
    return f"{'+' if fraction >= 0.0 else '-'}{_short(abs(100.0 * fraction))}%"


def iterations(number: int) -> str:
    """`2100`, `15k`, `1.2M`."""
    if number < 10_000:
        return str(number)
    for size, letter in ((1e3, "k"), (1e6, "M"), (1e9, "B")):
        if number < 1e3 * size or letter == "B":
            break
    tenths = letter != "k" and number < 10.0 * size
    return f"{number / size:.{int(tenths)}f}{letter}"


def limit(seconds: float) -> str:
    """A time a user sets: `5.0s`, `500.0ms`."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.1f}{unit}"
    return f"{seconds / 1e-9:.1f}ns"


def _scaled(value: float, units: tuple[tuple[float, float, str], ...]) -> str:
    factor, unit = next((factor, unit) for below, factor, unit in units if value < below)
    return f"{_short(value * factor):>6} {unit}"


def _short(value: float) -> str:
    decimals = sum(value < edge for edge in (10.0, 100.0, 1000.0, 10_000.0))
    return f"{value:.{decimals}f}"
