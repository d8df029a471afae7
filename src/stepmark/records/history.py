"""The history of a case: its level run by run, the stretches in which it stayed, and where it changed."""

from __future__ import annotations

from stepmark.records.estimate import Estimate
from stepmark.records.record import Record
from stepmark.records.verdict import VerdictKind


class HistoryPoint(Record, frozen=True, kw_only=True, gc=False):
    """One phase of a case in one finished run; one of thousands, and never part of a cycle."""

    run: str
    """Its id."""
    started: float
    """When the run started, in seconds since the epoch."""
    commit: str | None
    """Of the bench file's repository; None where there was none."""
    branch: str | None
    machine: str
    """Host name."""
    level: Estimate
    """Seconds per iteration: the median of each launch, the interval over launches."""
    ratio: Estimate | None
    """To the baseline of its cell; None for the baseline itself, and where nothing could be compared."""
    verdict: VerdictKind | None
    dirty: bool = False
    """Whether files differed from the commit."""
    conditions: str = ""
    """Key of what must agree for two points to be one series: see `Series.key`."""


class Series(Record, frozen=True, kw_only=True):
    """Points that may be compared: of one machine, with the same device, threads, torch and flags."""

    key: str
    machine: str
    facts: tuple[tuple[str, str], ...]
    """What all its points share, by name: `threads` is `4`, `torch` is `2.9.1`."""
    differs: tuple[str, ...]
    """Names of the facts in which it differs from the other series of the same history."""
    num_points: int


class Segment(Record, frozen=True, kw_only=True):
    """A stretch of one series without a change."""

    begin: float
    """When its first run started."""
    end: float
    """When its last run started."""
    mean: Estimate
    """Geometric mean of its points, in seconds; `num_launches` counts them. The interval is over runs; a
    single point has its own."""
    series: str = ""
    """Key of the series it belongs to."""
    first_run: str = ""
    last_run: str = ""


class ChangePoint(Record, frozen=True, kw_only=True):
    """Where a series left one level for another."""

    run: str
    """The first run at the new level."""
    at: float
    """When that run started."""
    change: Estimate
    """New level over old level: above 1 is slower."""
    series: str = ""
    before: str = ""
    """The last run at the old level: the cause lies between the two."""


class CaseHistory(Record, frozen=True, kw_only=True):
    """One phase of one case over all finished runs: computed from stored summaries, never stored itself."""

    case: str
    """Case id."""
    phase: str
    points: tuple[HistoryPoint, ...]
    """Every one, the oldest first, whatever series it belongs to."""
    segments: tuple[Segment, ...]
    """Series by series, the oldest first."""
    changes: tuple[ChangePoint, ...]
    """The oldest first."""
    method: str
    """How changes were found, in one sentence."""
    series: tuple[Series, ...] = ()
    """The one with the newest point first."""
