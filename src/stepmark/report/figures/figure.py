"""A figure: a chart as data, with what a person needs to read it, or to know of it without seeing it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import field

from stepmark.records.record import Record

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

NARROW = 640
"""Pixels: a figure's narrow parts are meant for pages that are not wider."""


class Kind(StrEnum):
    """What a figure shows."""

    FOREST = "forest"
    """Ratios to the baseline with their intervals, and the margin."""
    SWEEP = "sweep"
    """Times over a numeric axis, and where one variant overtakes another."""
    PHASES = "phases"
    """What a step's time is made of."""
    MEMORY = "memory"
    """What a step keeps, and what each phase adds to it."""
    ROOFLINE = "roofline"
    """Rates of every case below the ceilings of its machine."""
    SAMPLES = "samples"
    """Every block of one case, in the order of time and launch by launch."""
    WARMUP = "warmup"
    """The first iterations of one case."""
    HISTORY = "history"
    """One case, run after run."""


class Figure(Record, frozen=True, kw_only=True):
    """One chart."""

    kind: Kind
    name: str
    """Unique among the figures of a run, and fit to be an HTML id: letters, digits, dashes."""
    title: str
    alt: str
    """For a person who cannot see it: what it shows, with the main numbers."""
    reading: str
    """A paragraph: how to read it."""
    spec: Spec
    """Vega-Lite with its data inside, without title, colours of the page or any address but `$schema`."""
    narrow: Spec = field(default_factory=dict)
    """Top-level parts of the specification that a narrow page has instead; None takes a part away."""

    def narrowed(self) -> Spec:
        """The specification for a narrow page."""
        return {name: part for name, part in {**self.spec, **self.narrow}.items() if part is not None}
