"""Series: the raw values of a case as a page carries them, by launch, round and turn, outliers labelled."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from stepmark.records.record import Record
from stepmark.report.html.packing import Column


class Carried(StrEnum):
    """Which raw values a page carries."""

    ALL = "all"
    PRIMARY = "primary"
    """Of the phase that the verdict is about alone."""
    THINNED = "thinned"
    """Of that phase every n-th round."""


class Level(Record, frozen=True, kw_only=True):
    """The estimate of a phase's median, in seconds per iteration."""

    phase: str
    seconds: float
    low: float
    high: float


class PhaseSeries(Record, frozen=True, kw_only=True):
    """One measured phase."""

    phase: str
    iterations: tuple[int, ...]
    """Of a block, launch by launch."""
    nanoseconds: Column
    """Of a whole block."""


class ShownSeries(Record, frozen=True, kw_only=True):
    """A phase or total that charts can show."""

    name: str
    parts: tuple[str, ...]
    """The measured phases it is the sum of."""
    labels: Column
    """Outliers by Tukey's fences of their launch: 0 and 1 low, 2 regular, 3 and 4 high."""
    boxes: Column
    """Of each launch, in picoseconds per iteration: the least regular value, quartiles and median, and the
    greatest regular value; all least ones first."""
    outliers: tuple[int, ...]
    """Of each launch, whether carried or not."""
    edges: tuple[float, float]
    """Seconds; what lies beyond is drawn at the edge."""
    level: Level | None


class WarmupSeries(Record, frozen=True, kw_only=True):
    """How one lane became steady."""

    launch: int
    first: tuple[int, ...]
    """Nanoseconds of the very first iterations."""
    iterations: int
    blocks: tuple[int, ...]
    """Nanoseconds of each block of `iterations` that came after them."""
    settled: bool


class CaseSeries(Record, frozen=True, kw_only=True):
    """Everything timed of one case."""

    launches: tuple[int, ...]
    """Their numbers,"""
    blocks: tuple[int, ...]
    """how many rounds each has here,"""
    measured: tuple[int, ...]
    """and how many it had."""
    rounds: Column
    turns: Column
    """The place at which the case ran in the round, from 1; 0 where that is not known."""
    phases: tuple[PhaseSeries, ...]
    shown: tuple[ShownSeries, ...]
    """The one that the verdict is about first."""
    warmups: tuple[WarmupSeries, ...]
    steady: Level | None
    """Of what a warm-up runs: whole iterations."""

    @property
    def size(self) -> int:
        """Characters that it takes in a page."""
        return len(msgspec.json.encode(self))
