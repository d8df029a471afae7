"""Crossovers: where along a numeric axis one variant overtakes another."""

from __future__ import annotations

from stepmark.records.record import Record


class Crossover(Record, frozen=True, kw_only=True):
    """Below it one variant is faster, above it the other one: both by verdict, not by the points alone."""

    suite: str
    axis: str
    fixed: tuple[tuple[str, str], ...]
    """Everything else that sets the cells apart: other axes, device, dtype, mode, execution and cache."""
    phase: str
    before: str
    """The variant that is faster at small values of the axis."""
    after: str
    """The one that is faster at large values."""
    low: float
    """The last measured value at which `before` is faster by verdict,"""
    high: float
    """and the first one at which `after` is: it happens between the two."""
    at: float | None = None
    """Where the ratio is 1, by interpolation; None where values between the two were measured and decided
    nothing: then nobody knows more than `low` and `high`."""
    at_low: float | None = None
    """Where the ratio's interval begins to contain 1, likewise,"""
    at_high: float | None = None
    """and where it ends to."""
