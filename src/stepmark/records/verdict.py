"""Verdicts: the answer to "is it faster?", from a closed list, with ratio, interval and reasons."""

from __future__ import annotations

from enum import StrEnum

from stepmark.records.estimate import Estimate
from stepmark.records.record import Record
from stepmark.records.settings import Policy


class VerdictKind(StrEnum):
    FASTER = "FASTER"
    """The whole interval lies below the margin."""
    SLOWER = "SLOWER"
    """The whole interval lies above the margin."""
    EQUIVALENT = "EQUIVALENT"
    """The whole interval lies inside the margin."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """The interval crosses the margin: more launches would be needed. Never "same"."""
    INVALID = "INVALID"
    """There is nothing to compare, or the audit found that it is not what it claims to be."""


class Reason(StrEnum):
    """Why a verdict is what it is, where the interval alone does not say."""

    INTERVAL_CROSSES_MARGIN = "the interval crosses the margin"
    ONE_LAUNCH = "one launch cannot show its own spread"
    CASE_FAILED = "the case could not be measured"
    BASELINE_FAILED = "the baseline could not be measured"
    AUDIT = "the audit found an error in the case"
    BASELINE_AUDIT = "the audit found an error in the baseline"
    TOO_MANY_CELLS = "among this many cells, chance alone would flag some as clearly as this"
    NOT_CONFIRMED = "fresh launches did not confirm it"
    NOT_REMEASURED = "flagged in a sweep, and the run ended before fresh launches could confirm it"
    NOT_MEASURED = "not measured yet"
    PHASES_DIFFER = "the two do not run the same phases"
    UNPAIRED = "measured in different runs: the machine's mood does not cancel"
    SEPARATE_PROCESSES = "measured in separate processes: process levels do not cancel"
    ONE_AFTER_ANOTHER = "measured one after another, each alone on the device: nothing cancels"


class Look(Record, frozen=True, kw_only=True):
    """When the run looked at this comparison for the last time, and how much of its error rate that look
    had."""

    launches: int
    early: bool
    """Whether the run stopped the cell here because every verdict was decided."""
    share: float
    """Of alpha: the interval has the confidence 1 - alpha share, so that all looks together keep alpha."""


class Power(Record, frozen=True, kw_only=True):
    """What a comparison could have seen, and what a decision would take."""

    deviation: float
    """Standard deviation of the log-ratio from launch to launch."""
    detectable: float
    """The smallest slowdown that a run like this one calls SLOWER four times in five."""
    needed: int | None = None
    """Launches that would decide an INCONCLUSIVE verdict four times in five, if the ratio is what it seems,
    those made included where fresh ones are all it lacks; None where it is decided, sits on the edge of the
    margin, or fresh launches said the opposite."""
    seconds: float | None = None
    """About how long that many launches take."""


class Verdict(Record, frozen=True, kw_only=True):
    """One phase of one case against the baseline of its cell."""

    case: str
    """Case id."""
    baseline: str
    """Case id of the baseline."""
    phase: str
    kind: VerdictKind
    policy: Policy
    ratio: Estimate | None = None
    """Time of the case over time of the baseline: below 1 is faster."""
    reasons: tuple[Reason, ...] = ()
    look: Look | None = None
    power: Power | None = None
    p_value: float | None = None
    """Of a difference this far beyond the margin, were there none beyond it; all looks accounted for."""
