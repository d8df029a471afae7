"""Findings: named doubts about a measurement, from a closed list, with numbers and a remedy."""

from __future__ import annotations

from enum import StrEnum

from stepmark.records.record import Record


class Severity(StrEnum):
    NOTE = "note"
    """Worth knowing; the verdict stands."""
    WARNING = "warning"
    """The numbers may mislead."""
    ERROR = "error"
    """The verdict is invalid."""


class FindingName(StrEnum):
    """The closed list; docs/reading-a-verdict.md explains each."""

    NEVER_SETTLED = "never-settled"
    GLOBAL_STATE_CHANGED = "global-state-changed"
    FEW_LAUNCHES = "few-launches"
    CLOCK_DOMINATES = "clock-dominates"
    LANE_FAILED_IN_COMPANY = "lane-failed-in-company"
    MACHINE_BUSY = "machine-busy"
    WARM_UP_UNFINISHED = "warm-up-unfinished"
    CHANGES_ITS_NEIGHBOURS = "changes-its-neighbours"


class Finding(Record, frozen=True, kw_only=True):
    """One rule's conclusion about one case."""

    name: FindingName
    severity: Severity
    case: str
    """Case id."""
    message: str
    """What was seen, with its numbers."""
    remedy: str
