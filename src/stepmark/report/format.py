"""Numbers as text: the only place that chooses ms or MiB and how many digits are shown.

Digits are justified by the interval, by the rule of the Particle Data Group (Review of Particle Physics,
introduction, "Rounding"): half the interval's width keeps two digits where they are 10 to 35, else
one, and the point is cut at the same place. Half-width 0.0049 ms: 1.234 ms; half-width 0.049 ms: 1.23 ms. Two
significant digits are shown at least, four at most: a narrower interval says more about its method than
about the machine.

The bounds of a ratio are rounded outwards, low down and high up, to hundredths or thousandths below 10: what
is shown contains what was computed, and an interval that leaves the margin is not shown inside it. A ratio
below a hundredth shows two digits, wherever those are.

Number and unit are joined by a no-break space.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import NamedTuple

from stepmark.records.estimate import Estimate
from stepmark.records.limit import Limit

NBSP = "\u00a0"
MIN_DIGITS, MAX_DIGITS = 2, 4
MAX_DECIMALS = 4
"""In a unit shared by a table: what is smaller than that is shown as `~0`."""
MOST_RATIO_DECIMALS = 6
"""A step a million times as fast does not do the same thing."""
SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_SUPERSCRIPTS = str.maketrans("0123456789", SUPERSCRIPTS)
PLAIN_DIGITS = 3
"""Of a number that comes without an interval."""


class TimeUnit(NamedTuple):
    """A unit a time is shown in."""

    name: str
    seconds: float


TIME_UNITS = (TimeUnit("ns", 1e-9), TimeUnit("µs", 1e-6), TimeUnit("ms", 1e-3), TimeUnit("s", 1.0))


def shared_unit(values: Iterable[float]) -> TimeUnit | None:
    """One unit for a whole table: the largest time is at least 1 in it, the smallest 0.01.

    None where there are none, or they lie too far apart for one unit.
    """
    sizes = [abs(value) for value in values if value]
    if not sizes:
        return None
    place = _unit_place(max(sizes))
    if place and min(sizes) < 0.01 * TIME_UNITS[place].seconds:
        place -= 1
    unit = TIME_UNITS[place]
    return unit if place == 0 or min(sizes) >= 0.01 * unit.seconds else None


def seconds(value: float | Estimate, *, unit: TimeUnit | None = None) -> str:
    """`1.234 ms`, or the bare `1.234` where the table names the unit."""
    point, half = _parts(value)
    if unit is not None:
        return _in_unit(point, half, unit)
    place = _unit_place(abs(point))
    text = _in_unit(point, half, TIME_UNITS[place])
    if text.lstrip("-").startswith("1000") and place + 1 < len(TIME_UNITS):
        place += 1
        text = _in_unit(point, half, TIME_UNITS[place])
    return f"{text}{NBSP}{TIME_UNITS[place].name}"


def plus_minus(estimate: Estimate) -> str:
    """Half the interval's width relative to the point: `±0.8 %`."""
    width = 100.0 * abs(estimate.half_width)
    if (estimate.point == 0.0 and estimate.high > estimate.low) or width > 999.0:
        return f"±>999{NBSP}%"
    if width >= 9.95:
        return f"±{width:.0f}{NBSP}%"
    if width >= 0.095:
        return f"±{width:.1f}{NBSP}%"
    return f"±{width:.2f}{NBSP}%" if width >= 0.005 else f"±<0.01{NBSP}%"


def ratio(estimate: Estimate) -> str:
    """Time over the baseline's time: `0.80x`."""
    decimals = _ratio_decimals(estimate, estimate.point)
    return f"{estimate.point:.{decimals}f}x"


def interval(estimate: Estimate) -> str:
    """The interval of a ratio, rounded outwards: `[0.79, 0.81]`."""
    low = _rounded(estimate.low, _ratio_decimals(estimate, estimate.low), ROUND_FLOOR)
    high = _rounded(estimate.high, _ratio_decimals(estimate, estimate.high), ROUND_CEILING)
    return f"[{low}, {high}]"


def times(factor: float) -> str:
    """A factor in a sentence: `1.31x`, `0.050x`, `0.00042x`, `499x`."""
    return f"{factor:.{times_decimals(factor)}f}x"


def times_decimals(factor: float) -> int:
    """Hundredths are enough in a sentence, thousandths below 0.1, and below 0.01 two digits."""
    if factor >= 10.0:
        return 0 if factor >= 100.0 else 1
    if factor >= 0.1:
        return 2
    return min(max(3, MIN_DIGITS - 1 - _magnitude(factor)), MOST_RATIO_DECIMALS) if factor > 0.0 else 3


def percent(fraction: float) -> str:
    """A setting: `1 %`, `2.5 %`, `95 %`."""
    text = f"{100.0 * fraction:.3f}".rstrip("0").rstrip(".")
    return f"{text}{NBSP}%"


def limit(reached: Limit) -> str:
    """The share of the limit: `43 %`, `0.4 %`; `>12 %` where not all of the work was counted."""
    digits = 0 if reached.share >= 0.00995 else 1
    return f"{'>' if reached.at_least else ''}{100.0 * reached.share:.{digits}f}{NBSP}%"


def effect(fraction: float) -> str:
    """The size of an effect, two digits of it: `0.34 %`, `2.3 %`, `12 %`; of more than a doubling nobody
    wants any."""
    if fraction > 1.0:
        return f"more than 100{NBSP}%"
    digits = 0 if fraction >= 0.0995 else 1 if fraction >= 0.00995 else 2
    return f"{100.0 * fraction:.{digits}f}{NBSP}%"


def count(number: int) -> str:
    """`950`, `4.2 M`."""
    return _prefixed(number, 1000.0, ("", "k", "M", "G", "T", "P"))


def size(num_bytes: int) -> str:
    """`512 B`, `1.5 GiB`."""
    return _prefixed(num_bytes, 1024.0, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


def duration(length: float) -> str:
    """How long something took, for people: `0.4 s`, `12 s`, `1 min 32 s`, `2 h 5 min`."""
    if length < 9.95:
        return f"{length:.1f}{NBSP}s"
    whole = round(length)
    if whole < 60:
        return f"{whole}{NBSP}s"
    if whole < 3600:
        return f"{whole // 60}{NBSP}min{NBSP}{whole % 60}{NBSP}s"
    minutes = round(length / 60)
    return f"{minutes // 60}{NBSP}h{NBSP}{minutes % 60}{NBSP}min"


def moment(epoch: float, *, zone: tzinfo | None = None) -> str:
    """A point in time, in the local zone by default: `2026-11-03 14:05`."""
    return datetime.fromtimestamp(epoch, tz=zone).strftime("%Y-%m-%d %H:%M")


def plural(number: int, noun: str) -> str:
    """`1 launch`, `10 launches`."""
    ending = "" if number == 1 else "es" if noun.endswith(("ch", "s")) else "s"
    return f"{number}{NBSP}{noun}{ending}"


def span(low: int, high: int, noun: str) -> str:
    """`10 launches`, or `8 to 10 launches`."""
    return plural(high, noun) if low == high else f"{low} to {plural(high, noun)}"


def superscript(number: int) -> str:
    """`¹`, `¹²`."""
    return str(number).translate(_SUPERSCRIPTS)


def _parts(value: float | Estimate) -> tuple[float, float]:
    """The point and half the interval's width; a bare number gets a width that leaves it three digits."""
    if isinstance(value, Estimate):
        return value.point, (value.high - value.low) / 2.0
    return value, 10.0 ** (_magnitude(value) - PLAIN_DIGITS + 1)


def _magnitude(value: float) -> int:
    """The power of ten of the first digit shown: 0.99997 is shown as 1.000."""
    return int(f"{value:.{MAX_DIGITS - 1}e}".partition("e")[2])


def _last_place(half: float) -> int:
    """The power of ten of the last digit that this half-width justifies."""
    top = _magnitude(half)
    return top - 1 if half < 3.55 * 10.0**top else top


def _decimals(point: float, half: float) -> int:
    """Decimals that the interval justifies; negative where even the whole number has too many digits."""
    top = _magnitude(point)
    bottom = _last_place(half) if half > 0.0 else top - MAX_DIGITS + 1
    return -min(max(bottom, top - MAX_DIGITS + 1), top - MIN_DIGITS + 1)


def _in_unit(point: float, half: float, unit: TimeUnit) -> str:
    scaled = point / unit.seconds
    return _fixed(scaled, min(_decimals(scaled, half / unit.seconds), MAX_DECIMALS))


def _fixed(value: float, decimals: int) -> str:
    text = f"{round(value, decimals):.{max(decimals, 0)}f}"
    if float(text) == 0.0:
        return "~0" if value else "0"
    return text


def _unit_place(value: float) -> int:
    """The largest unit in which the value is at least 1."""
    fitting = (place for place, unit in enumerate(TIME_UNITS) if value >= unit.seconds)
    return max(fitting, default=0)


def _ratio_decimals(estimate: Estimate, value: float) -> int:
    """A margin is a matter of per cents, so numbers below 10 show hundredths at least."""
    if value >= 100.0:
        return 0
    if value >= 10.0:
        return 1
    if estimate.point < 0.01 and 0.0 < value < 0.01:
        return min(MIN_DIGITS - 1 - _magnitude(value), MOST_RATIO_DECIMALS)
    half = (estimate.high - estimate.low) / 2.0
    return min(max(-_last_place(half), 2), 3) if half > 0.0 else 3


def _rounded(value: float, decimals: int, direction: str) -> str:
    """In decimal arithmetic: 0.57 is 57 hundredths, which binary arithmetic would floor to 56."""
    return str(Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), rounding=direction))


def _prefixed(number: int, step: float, prefixes: tuple[str, ...]) -> str:
    """One decimal below 10, none above; the prefix is chosen after rounding, so `1000 k` is `1.0 M`."""
    value, place = float(number), 0
    while abs(value) >= step - 0.5 and place + 1 < len(prefixes):
        value /= step
        place += 1
    digits = 1 if place and abs(value) < 9.95 else 0
    return f"{value:.{digits}f}{NBSP}{prefixes[place]}".rstrip(NBSP)
