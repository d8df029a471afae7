"""A chart of time by iteration in text: a bar a column, on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from stepmark.report import format as show

HEIGHT = 7
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LEAST_RANGE = 2.0
"""The scale spans at least this factor, so that noise does not look like mountains."""
_FLOOR = 1.15
"""The scale begins this factor below the smallest value, so that it has a bar too."""
_TICKS = 10


def chart(values: Sequence[float], *, width: int, ascii_only: bool = False) -> list[str]:
    """Lines of at most `width` columns; more values than columns are shown as medians of neighbours."""
    low, high = min(values), max(values)
    labels = show.seconds(high), show.seconds(low)
    margin = max(map(len, labels))
    room = max(width - margin - 2, _TICKS)
    size = max(1, math.ceil(len(values) / room))
    groups = [median(values[place : place + size]) for place in range(0, len(values), size)]
    floor = low / _FLOOR
    span = math.log(max(high, floor * _LEAST_RANGE) / floor)
    heights = [math.log(value / floor) / span * HEIGHT for value in groups]
    lines = []
    for row in reversed(range(HEIGHT)):
        label = labels[0] if row == HEIGHT - 1 else labels[1] if row == 0 else ""
        bars = "".join(_cell(height - row, ascii_only) for height in heights)
        lines.append(f"{label:>{margin}} {'|' if ascii_only else '│'}{bars}".rstrip())
    places = [place for place in range(0, len(groups), _TICKS) if place + len(str(place * size)) <= room]
    ticks = "".join(f"{place * size:<{_TICKS}}" for place in places)
    return [*lines, f"{'':{margin}}  {ticks}".rstrip()]


def _cell(height: float, ascii_only: bool) -> str:
    filled = min(max(height, 0.0), 1.0)
    if ascii_only:
        return "#" if filled >= 0.5 else " "
    return _EIGHTHS[round(8 * filled)]
