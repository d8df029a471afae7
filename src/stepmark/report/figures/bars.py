"""Bars below each other: as long as what they measure, or, where cells lie far apart, as their share of the
longest bar of the cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stepmark.report.figures.lines import Line

FAR_APART = 25.0
"""Longest bars of two cells, one over the other."""


class Lengths(NamedTuple):
    """How long bars are drawn."""

    relative: bool
    unit: Mapping[int, float]
    """By line: what a length of 1 stands for."""
    longest: float
    """On the axis."""

    def of(self, line: Line, value: float) -> float:
        """A value's length on the axis."""
        return value / self.unit.get(line.place, 1.0)


def lengths_of(lines: Sequence[Line], totals: Mapping[int, float]) -> Lengths:
    """From the whole length of each line's bar."""
    longest: dict[str, float] = {}
    for line in lines:
        if line.place in totals:
            cell = line.cell.cell.id
            longest[cell] = max(longest.get(cell, 0.0), totals[line.place])
    known = [length for length in longest.values() if length > 0.0]
    relative = bool(known) and max(known) > FAR_APART * min(known)
    unit = {line.place: (longest.get(line.cell.cell.id) or 1.0) if relative else 1.0 for line in lines}
    return Lengths(relative, unit, 1.0 if relative else max(known, default=1.0))
