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
    """There is nothing to compare."""


class Reason(StrEnum):
    """Why a verdict is what it is, where the interval alone does not say."""

    INTERVAL_CROSSES_MARGIN = "the interval crosses the margin"
    ONE_LAUNCH = "one launch cannot show its own spread"
    CASE_FAILED = "the case could not be measured"
    BASELINE_FAILED = "the baseline could not be measured"
    NOT_MEASURED = "not measured yet"
    PHASES_DIFFER = "the two do not run the same phases"
    SEPARATE_PROCESSES = "measured in separate processes: process levels do not cancel"


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
