"""An assignment: the next thing an engine is to run."""

from __future__ import annotations

from dataclasses import dataclass

from stepmark.records.case import Case, Cell
from stepmark.records.settings import Settings
from stepmark.records.source import Source
from stepmark.records.trial import Role


@dataclass(frozen=True, kw_only=True)
class SoloAssignment:
    """One case alone."""

    case: Case
    source: Source
    settings: Settings

    @property
    def seed(self) -> str:
        """Everything random in the pass follows from this text."""
        return f"{self.settings.seed}/{self.case.cell.id}/solo"


@dataclass(frozen=True, kw_only=True)
class LaunchAssignment:
    """The surviving variants of a cell, side by side."""

    cell: Cell
    number: int
    cases: tuple[Case, ...]
    source: Source
    settings: Settings
    role: Role = Role.MEASURE

    @property
    def seed(self) -> str:
        """Everything random in the launch follows from this text."""
        return f"{self.settings.seed}/{self.cell.id}/{self.number}"


Assignment = SoloAssignment | LaunchAssignment


@dataclass(frozen=True, kw_only=True)
class WarmupAssignment:
    """The first iterations of one case in a fresh process. Not part of any run."""

    case: Case
    number: int
    iterations: int
    source: Source
    settings: Settings

    @property
    def seed(self) -> str:
        """Everything random in the launch follows from this text."""
        return f"{self.settings.seed}/{self.case.cell.id}/warm-up/{self.number}"
