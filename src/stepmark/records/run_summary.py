"""A run summarized: levels, ratios and verdicts of its cases, as lists and histories show them."""

from __future__ import annotations

from stepmark.records.estimate import Estimate
from stepmark.records.record import Record
from stepmark.records.verdict import VerdictKind


class CaseSummary(Record, frozen=True, kw_only=True):
    """One phase of one case in a run."""

    case: str
    """Case id."""
    phase: str
    primary: bool
    """Whether the case's verdict is about this phase."""
    level: Estimate
    """Seconds per iteration: the median of each launch, the interval over launches."""
    error: float
    """Variance of the level's logarithm, from the spread of the launches; 0 with a single one."""
    ratio: Estimate | None = None
    """To the baseline of the cell."""
    verdict: VerdictKind | None = None
    """None for the baseline itself."""


class Conditions(Record, frozen=True, kw_only=True):
    """What must agree for the levels of two runs to be one series."""

    key: str
    """The same for the same facts."""
    facts: tuple[tuple[str, str], ...]
    """By name: host, processor, threads, torch, flags of precision."""


class RunSummary(Record, frozen=True, kw_only=True):
    """What a finished run came to: derived from its trials, and made again when the rules change."""

    run: str
    """Its id."""
    version: int
    """Of the rules that made it."""
    conditions: Conditions
    code: str | None
    """The same for runs that replicate each other: same conditions, same settings, same cases, and code that
    is known to be the same. None where that cannot be known."""
    verdicts: tuple[tuple[VerdictKind, int], ...]
    """How many cases have which verdict on their primary phase; those that none has are left out."""
    num_failed: int
    """Cases that ended otherwise than measured."""
    cases: tuple[CaseSummary, ...]
    """Every measured phase of every measured case."""


class RunLevel(Record, frozen=True, kw_only=True):
    """The level of one case in one run, as far as the spread from run to run needs it."""

    code: str
    """Which replications it belongs to."""
    case: str
    run: str
    level: float
    """Logarithm of the seconds."""
    error: float
    """Its variance, from the launches."""


class KnownMachine(Record, frozen=True, kw_only=True):
    """A machine on which stored runs were measured."""

    name: str
    """Host name."""
    num_runs: int
    first: float
    """When its oldest run started."""
    last: float
    """When its newest run started."""
