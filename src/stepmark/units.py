"""Seconds, fractions and shapes as users write them: parsing only, formatting is the report's."""

from __future__ import annotations

import math
import re
from typing import NewType

from stepmark.errors import UsageError

Seconds = NewType("Seconds", float)
Bytes = NewType("Bytes", int)

_SECONDS_PER = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]*)\s*", re.IGNORECASE)
_FRACTION = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*")


def parse_duration(text: str | float) -> Seconds:
    """'90s', '1.5m', '500ms' or a number of seconds."""
    if isinstance(text, int | float) and math.isfinite(text) and text >= 0:
        return Seconds(float(text))
    text = str(text)
    match = _DURATION.fullmatch(text)
    unit = (match.group(2).lower() or "s") if match else ""
    if match is None or unit not in _SECONDS_PER:
        raise UsageError(f"'{text}' is not a duration", remedy="write it like 90s, 1.5m, 500ms or 2h")
    return Seconds(float(match.group(1)) * _SECONDS_PER[unit])


def parse_fraction(text: str | float) -> float:
    """'1%' or '0.01'."""
    value = float(text) if isinstance(text, int | float) else _fraction(text)
    if not 0.0 <= value < 1.0:
        raise UsageError(f"'{text}' is not between 0 and 1", remedy="write one per cent as 1% or 0.01")
    return value


def _fraction(text: str) -> float:
    match = _FRACTION.fullmatch(text)
    if match is None:
        raise UsageError(f"'{text}' is not a fraction", remedy="write it like 1% or 0.01")
    return float(match.group(1)) / (100.0 if match.group(2) else 1.0)


def parse_shape(text: str) -> tuple[int, ...]:
    """'64x1024' as (64, 1024)."""
    parts = text.lower().replace("×", "x").split("x")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise UsageError(f"'{text}' is not a shape", remedy="write sizes joined by x, like 64x1024")
    return tuple(int(part) for part in parts)
