"""A chart of memory over time in text: a bar a slice of time, its highest level in it, phases named below."""

from __future__ import annotations

from stepmark.records.profile import MemoryProfile
from stepmark.report import format as show

HEIGHT = 6
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LEAST_COLUMNS = 10


def memory_chart(memory: MemoryProfile, *, width: int, ascii_only: bool = False) -> list[str]:
    """Lines of at most `width` columns; the scale is linear, from nothing to the peak."""
    labels = show.size(memory.peak.num_bytes), show.size(0)
    margin = max(map(len, labels))
    columns = max(width - margin - 2, _LEAST_COLUMNS)
    whole = max(phase.end_seconds for phase in memory.phases)
    levels = highest_levels(memory, columns, whole)
    top = max(memory.peak.num_bytes, 1)
    lines = []
    for row in reversed(range(HEIGHT)):
        label = labels[0] if row == HEIGHT - 1 else labels[1] if row == 0 else ""
        bars = "".join(_cell(level / top * HEIGHT - row, ascii_only) for level in levels)
        lines.append(f"{label:>{margin}} {'|' if ascii_only else '│'}{bars}".rstrip())
    return [*lines, f"{'':{margin}}  {_phase_names(memory, columns, whole)}".rstrip()]


def highest_levels(memory: MemoryProfile, columns: int, whole: float) -> list[int]:
    """The highest level in each of as many equal slices; a slice without a change has the level before it."""
    levels, place = [], 0
    points = memory.timeline
    for column in range(columns):
        end = whole * (column + 1) / columns
        highest = points[place].num_bytes
        while place + 1 < len(points) and (points[place + 1].seconds < end or column == columns - 1):
            place += 1
            highest = max(highest, points[place].num_bytes)
        levels.append(highest)
    return levels


def _phase_names(memory: MemoryProfile, columns: int, whole: float) -> str:
    """Each name below the slice its phase begins in, cut where the next one begins."""
    starts = [min(int(phase.begin_seconds / whole * columns), columns - 1) for phase in memory.phases]
    line = ""
    for phase, start, behind in zip(memory.phases, starts, [*starts[1:], columns], strict=True):
        line = line.ljust(start) + f"|{phase.phase}"[: max(behind - start, 0)]
    return line


def _cell(height: float, ascii_only: bool) -> str:
    filled = min(max(height, 0.0), 1.0)
    if ascii_only:
        return "#" if filled >= 0.5 else " "
    return _EIGHTHS[round(8 * filled)]
