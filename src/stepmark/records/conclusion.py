"""Conclusions: what the verdicts of a run say together about one variant, as values for sentences."""

from __future__ import annotations

from stepmark.records.case import AxisValue
from stepmark.records.estimate import Estimate
from stepmark.records.outcome import Outcome
from stepmark.records.record import Record
from stepmark.records.verdict import Reason, VerdictKind


class KindCount(Record, frozen=True, kw_only=True):
    """The cells in which a phase got one verdict."""

    kind: VerdictKind
    cells: int
    least: Estimate | None
    """The smallest ratio among them; None where there is none."""
    most: Estimate | None
    reasons: tuple[Reason, ...] = ()
    """That any of them has."""


class PhaseConclusion(Record, frozen=True, kw_only=True):
    """One phase of a variant over all its cells."""

    phase: str
    kinds: tuple[KindCount, ...]
    """In the order of the closed list; at least one."""

    @property
    def cells(self) -> int:
        return sum(each.cells for each in self.kinds)

    @property
    def unanimous(self) -> KindCount | None:
        """The one verdict, where all cells have the same."""
        return self.kinds[0] if len(self.kinds) == 1 else None


class AxisRange(Record, frozen=True, kw_only=True):
    """Neighbouring values of a numeric axis at whose every cell the primary phase has the same verdict."""

    axis: str
    found: KindCount
    begin: AxisValue | None
    """The least value; None where the range begins with the axis."""
    end: AxisValue | None
    """The greatest value; None where it ends with the axis."""

    @property
    def kind(self) -> VerdictKind:
        return self.found.kind


class MemoryRatio(Record, frozen=True, kw_only=True):
    """Peak memory over the baseline's, over all cells where both are known."""

    least: float
    most: float


class Conclusion(Record, frozen=True, kw_only=True):
    """What was found out about one variant in one place."""

    suite: str
    variant: str
    baseline: str
    place: str
    """`cpu/float32/train`: cells of other devices, dtypes, modes and regimes are concluded apart."""
    margin: float
    phases: tuple[PhaseConclusion, ...] = ()
    """The primary first; empty where nothing was compared."""
    ranges: tuple[AxisRange, ...] = ()
    """Where along an axis the verdict is which; only where it changes."""
    memory: MemoryRatio | None = None
    failed: tuple[tuple[Outcome, int], ...] = ()
    """Cells without numbers, by how they ended."""
    unreached: int = 0
    """Cells that the run did not come to."""
