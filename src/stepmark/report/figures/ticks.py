"""Ticks of logarithmic axes: round numbers, not more than there is room for."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

CLOSE, MIDDLING = 3.0, 9.0
"""Ranges, high over low: up to the first ticks are evenly spaced, beyond the second they are 1, 2, 5."""
LADDERS = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))


def _in_units(*units: tuple[float, str], last: str) -> str:
    """An expression for an axis label: the number in the first of the units that it fills, or the last. Three
    digits are shown, so that 0.9995 ms is 1 ms."""
    parts = [
        f"datum.value >= {0.9995 * scale:.17g} ? format(datum.value / {scale:.17g}, '.3~r') + ' {name}' : "
        for scale, name in units
    ]
    return "".join((*parts, last))


SECONDS = _in_units(
    *((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    last="datum.value ? format(datum.value / 1e-9, '.3~r') + ' ns' : '0 s'",
)
RATE = _in_units(
    *((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1e3, "kFLOP/s")),
    last="format(datum.value, '.3~r') + ' FLOP/s'",
)
BYTES = _in_units(
    *((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB")), last="datum.value + ' B'"
)
PERCENT = "format(datum.value * 100, '.3~r') + ' %'"


def byte_ticks(most_bytes: float, *, most: int) -> tuple[float, ...]:
    """From 0 on, round in KiB, MiB or GiB."""
    unit = 1024.0 ** max(0, min(5, int(math.log(max(most_bytes, 1.0), 1024.0))))
    for step in (
        unit * nice / 100.0 for nice in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4)
    ):
        if most_bytes / step < most and step >= 1.0:
            return tuple(step * k for k in range(int(most_bytes / step) + 1))
    return (0.0, most_bytes)


def ratio_ticks(low: float, high: float, *, most: int) -> tuple[float, ...]:
    """Round ratios inside bounds that have 1 between them; 1 is always among them."""
    if high / low <= CLOSE:
        for step in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
            first, last = math.ceil((low - 1.0) / step), math.floor((high - 1.0) / step)
            if last - first < most:
                return tuple(round(1.0 + step * k, 3) for k in range(first, last + 1))
    return log_ticks(low, high, most=most)


def log_ticks(low: float, high: float, *, most: int) -> tuple[float, ...]:
    """Round numbers inside positive bounds, evenly spread over their logarithm."""
    found: tuple[float, ...] = ()
    for ladder in LADDERS if high / low <= MIDDLING else LADDERS[1:]:
        found = _rungs(ladder, low, high)
        if len(found) <= most:
            return found
    stride = math.ceil(len(found) / most)
    return tuple(tick for tick in found if round(math.log10(tick)) % stride == 0)


def log_scale(low: float, high: float) -> alt.Scale:
    """Exactly these bounds."""
    return alt.Scale(type="log", domain=[low, high], nice=False)


def seconds_axis(low: float, high: float, *, most: int = 5, title: str | None = None) -> alt.Axis:
    """Of a logarithmic scale of times."""
    return alt.Axis(values=list(log_ticks(low, high, most=most)), labelExpr=SECONDS, title=title)


def _rungs(ladder: Sequence[float], low: float, high: float) -> tuple[float, ...]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return tuple(
        float(f"{step * 10.0**power:.6g}")
        for power in powers
        for step in ladder
        if low <= step * 10.0**power <= high
    )
