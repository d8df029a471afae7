"""A published row, under the names that our suites use."""

from __future__ import annotations

from stepmark.records.case import AxisValue, Mode
from stepmark.records.record import Record


class PublishedCell(Record, frozen=True, kw_only=True):
    """One row: what was measured where, and what came out."""

    publication: str
    row: str
    """What the published file calls it."""
    suite: str
    variant: str | None
    """None where the row is about all variants of our suite, or about what each of them does."""
    axes: tuple[tuple[str, AxisValue], ...]
    """Of our axes those that the row fixes."""
    mode: Mode
    seconds: tuple[tuple[str, float], ...]
    """Phases with their times. A sum of phases of ours is written with a plus."""
    table: str = ""
    """Of several tables about the same thing, which."""
    peak_bytes: float | None = None
    parameters: int | None = None

    @property
    def point(self) -> dict[str, AxisValue]:
        return dict(self.axes)

    def time(self, phase: str) -> float | None:
        return dict(self.seconds).get(phase)
