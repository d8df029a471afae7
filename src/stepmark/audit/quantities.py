"""Quantities in messages: sizes, times and work with their units, and lists of names that end in a count."""

from __future__ import annotations

from collections.abc import Sequence

MAX_NAMED = 3
"""Names spelled out in a message; more are counted."""


def listed(names: Sequence[str]) -> str:
    """`a, b, c and 2 more`."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def counted(number: int, noun: str, ending: str = "s") -> str:
    """`1 parameter`, `2 parameters`, `2 processes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{ending}"


def size(num_bytes: float) -> str:
    """`3.2 MiB`."""
    return _scaled(num_bytes, 1024.0, ("bytes", "KiB", "MiB", "GiB", "TiB"))


def work(flops: float) -> str:
    """`4.2 GFLOP`."""
    return _scaled(flops, 1000.0, ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"))


def percent(share: float) -> str:
    """`1.2 %`, `43 %`."""
    return f"{100.0 * share:.{0 if share >= 0.0995 or round(1000.0 * share) % 10 == 0 else 1}f} %"


def time(seconds: float) -> str:
    """`1.5 ms`."""
    return _scaled(seconds * 1e9, 1000.0, ("ns", "µs", "ms", "s"))


def _scaled(value: float, step: float, units: tuple[str, ...]) -> str:
    place = 0
    while abs(value) >= step - 0.5 and place + 1 < len(units):
        value /= step
        place += 1
    return f"{value:.3g} {units[place]}" if abs(value) < 1000.0 else f"{value:.0f} {units[place]}"
