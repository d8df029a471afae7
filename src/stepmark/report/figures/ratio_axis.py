"""The axis of a forest plot: ratios on a logarithmic scale, and what of the intervals fits on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from stepmark.records.estimate import Estimate
from stepmark.report.figures.ticks import ratio_ticks

LEAST_ROOM, ROOM = math.log(1.15), 0.6
"""An interval may reach beyond all points by this, as a logarithm, or by this share of their range."""
SURROUNDINGS = 2.0
"""How many margins are shown on either side of 1, at least."""
EDGE = 0.06
"""Of the axis, free at either end."""


class RatioAxis(NamedTuple):
    """Bounds and ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def cut(self, value: float) -> float:
        """The value, or the end of the axis that it lies beyond."""
        return min(max(value, self.low), self.high)


def ratio_axis(ratios: Sequence[Estimate], *, margin: float, most_ticks: int) -> RatioAxis:
    """Every point and the margin are on it; of an interval what is not too far from all points."""
    points = [math.log(each.point) for each in ratios if each.point > 0.0]
    least, greatest = (
        f([*points, sign * math.log1p(margin)]) for f, sign in ((min, -SURROUNDINGS), (max, SURROUNDINGS))
    )
    room = max(LEAST_ROOM, ROOM * (greatest - least))
    lows = [math.log(each.low) for each in ratios if each.low > 0.0]
    highs = [math.log(each.high) for each in ratios if 0.0 < each.high < math.inf]
    low = max(least - room, min([least, *lows]))
    high = min(greatest + room, max([greatest, *highs]))
    edge = EDGE * (high - low)
    low, high = math.exp(low - edge), math.exp(high + edge)
    return RatioAxis(low, high, ratio_ticks(low, high, most=most_ticks))
