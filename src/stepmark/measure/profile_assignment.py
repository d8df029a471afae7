"""Assignments of a profile: a traced pass, and launches that weigh the profiler. Not part of any run."""

from __future__ import annotations

from dataclasses import dataclass

from stepmark.records.case import Case
from stepmark.records.settings import Settings
from stepmark.records.source import Source


@dataclass(frozen=True, kw_only=True)
class TracingAssignment:
    """Some iterations of one case under the profiler, in a fresh process."""

    case: Case
    iterations: int
    source: Source
    settings: Settings
    trace_file: str | None = None
    nvtx: bool = False

    @property
    def seed(self) -> str:
        """Everything random in the pass follows from this text."""
        return f"{self.settings.seed}/{self.case.cell.id}/trace"


@dataclass(frozen=True, kw_only=True)
class WeighingAssignment:
    """One case with and without the profiler in turn, in a fresh process."""

    case: Case
    number: int
    rounds: int
    source: Source
    settings: Settings

    @property
    def seed(self) -> str:
        """Everything random in the launch follows from this text."""
        return f"{self.settings.seed}/{self.case.cell.id}/profiler/{self.number}"
