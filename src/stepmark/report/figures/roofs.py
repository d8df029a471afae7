"""Roofs: where the ceilings of a machine lie in a roofline, their names, and which cases get a label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from stepmark.records.ceilings import Ceilings
from stepmark.report import format as show
from stepmark.report.figures.lettering import shortened, width_of
from stepmark.report.figures.pieces import Rows, rounded

CACHE = "cache"
WIDTH, HEIGHT = 860, 430
"""Pixels that labels are placed for; the width is the page's."""
MOST_LABELS, LABEL_WIDTH = 24, 190
SPREAD = 4.0
"""How far the axes go beyond cases and corners, as a factor."""
LINE, GAP = 13.0, 9.0
"""Pixels: the height of a text, and its distance from its mark."""
SLOPE_DX, SLOPE_DY, LEVEL_DX, LEVEL_DY = 8, 11, -6, -8
"""Pixels: where the name of a roof lies, from its place on it."""
Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""
Rates = Sequence[tuple[str, float]]
"""Matrix products by dtype, in operations a second."""


class Frame(NamedTuple):
    """Bounds of the axes: work per byte, and work per second."""

    left: float
    right: float
    bottom: float
    top: float

    def pixels(self, x: float, y: float) -> tuple[float, float]:
        """Where a point is drawn, from the left and from the top."""
        across = math.log(x / self.left) / math.log(self.right / self.left)
        upwards = math.log(y / self.bottom) / math.log(self.top / self.bottom)
        return WIDTH * across, HEIGHT * (1.0 - upwards)


def frame_of(rows: Rows, rates: Rates, ceilings: Ceilings) -> Frame:
    """Around all cases and the corners between slopes and levels."""
    tops = [rate for _, rate in rates]
    corners = [top / slope for top in tops for _, slope in slopes_of(ceilings)]
    across, upwards = [row["x"] for row in rows], [row["y"] for row in rows]
    left, right = min([*across, *corners]) / SPREAD, max([*across, *corners]) * SPREAD
    return Frame(left, right, min(upwards) / SPREAD, max([*upwards, *tops]) * 2.5)


def slopes_of(ceilings: Ceilings) -> list[tuple[str, float]]:
    """What memory allows, in bytes a second, and what a cache does where that is more."""
    both = [("memory", ceilings.copy_memory)]
    both += [(CACHE, ceilings.copy_cache)] if ceilings.copy_cache > ceilings.copy_memory else []
    return [(name, rate) for name, rate in both if rate > 0.0]


def roof_rows(rates: Rates, ceilings: Ceilings, frame: Frame) -> Rows:
    """The lines from point to point: slopes of memory and cache, and a level for each dtype."""
    slopes = slopes_of(ceilings)
    highest = max((rate for _, rate in rates), default=frame.top)
    steepest = max((slope for _, slope in slopes), default=math.inf)
    rows: Rows = []
    for name, slope in slopes:
        start = max(frame.left, frame.bottom / slope)
        end = {"x2": rounded(highest / slope), "y2": rounded(highest)}
        rows.append({"dashed": name == CACHE, "x": rounded(start), "y": rounded(start * slope), **end})
    for _, rate in rates:
        start = max(frame.left, rate / steepest)
        end = {"x2": rounded(frame.right), "y2": rounded(rate)}
        rows.append({"dashed": False, "x": rounded(start), "y": rounded(rate), **end})
    return rows


def name_rows(rates: Rates, ceilings: Ceilings, frame: Frame) -> Rows:
    """What stands at the lines; levels that lie close to each other share one text, at the highest."""
    rows: Rows = []
    for name, rate in sorted(rates, key=lambda each: -each[1]):
        text = f"{name} products {si(rate)}FLOP/s"
        above = rows[-1] if rows else None
        if above and frame.pixels(1.0, rate)[1] - frame.pixels(1.0, above["y"])[1] < LINE:
            above["text"] += f", {text}"
        else:
            rows.append({"x": rounded(frame.right), "y": rounded(rate), "level": True, "text": text})
    for name, slope in slopes_of(ceilings):
        start = max(frame.left, frame.bottom / slope) * 1.25
        rows.append({"x": rounded(start), "y": rounded(start * slope), "text": f"{name} {si(slope)}B/s"})
    return rows


def labelled(rows: Rows, names: Rows, frame: Frame) -> Rows:
    """Cases with a label at their right or left, where it lies neither on a mark nor on another label, nor on
    the name of a roof."""
    boxes = [_box(x - 6.0, y, 12.0) for x, y in (frame.pixels(row["x"], row["y"]) for row in rows)]
    boxes += [_name_box(row, frame) for row in names]
    found: Rows = []
    for row in rows:
        x, y = frame.pixels(row["x"], row["y"])
        label = shortened(
            f"{row['variant']}, {row['point']}" if row["point"] else row["variant"], LABEL_WIDTH
        )
        width = width_of(label)
        sides = {"right": _box(x + GAP, y, width), "left": _box(x - GAP - width, y, width)}
        free = [
            side
            for side, box in sides.items()
            if box[0] > 0.0 and box[2] < WIDTH and not any(_overlap(box, other) for other in boxes)
        ]
        if free and len(boxes) < len(rows) + len(names) + MOST_LABELS:
            boxes.append(sides[free[0]])
            found.append({**row, "label": label, "side": free[0]})
        else:
            found.append(row)
    return found


def _name_box(row: dict[str, Any], frame: Frame) -> Box:
    x, y = frame.pixels(row["x"], row["y"])
    width = width_of(row["text"])
    if row.get("level"):
        return _box(x + LEVEL_DX - width, y + LEVEL_DY, width)
    return _box(x + SLOPE_DX, y + SLOPE_DY, width)


def _box(left: float, middle: float, width: float) -> Box:
    return left, middle - LINE / 2.0, left + width, middle + LINE / 2.0


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def si(value: float) -> str:
    """`43.7 G`: three digits and a prefix."""
    for power, prefix in ((15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if value >= 10.0**power:
            return f"{value / 10.0**power:.3g}{show.NBSP}{prefix}"
    return f"{value:.3g}{show.NBSP}"
