"""The pilot: from a cell's first launches, how long its later ones should be.

The launches get the length at which a second of measuring buys most (stats/variance.py), over all variants of
the cell, whose blocks share it. A launch stays short enough that a budget holds LEAST_LAUNCHES of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepmark.analysis.against import Match
from stepmark.records.settings import Settings
from stepmark.records.trial import LaunchTrial
from stepmark.stats.arrays import FloatArray, count
from stepmark.stats.quantile import median
from stepmark.stats.variance import best_rounds, error_of_median

SHORTEST = 0.08
"""Seconds of sampling per lane: below, starting the process is most of a launch."""
LONGEST = 0.6
"""Seconds: launches are the unit, and many are better than few."""
LEAST_LAUNCHES = 15
"""That a budget should hold: Student's factor is then within 10 % of the normal one."""
WORTH = 0.25
"""Seconds of sampling that a second of starting a launch buys at least, where the budget holds fewer: on an
accelerator a launch costs a second or two before it measures anything."""


def best_round_seconds(
    launches: Sequence[LaunchTrial], matches: Sequence[Match], settings: Settings, *, num_cells: int
) -> float | None:
    """Seconds of sampling per lane, or None where the pilot cannot tell."""
    logs = _primary_logs(matches, num_launches=len(launches))
    if not logs or len(launches) < 2:
        return None
    centres = np.stack([median(rows) for rows in logs])
    errors = np.stack([error_of_median(rows) for rows in logs])
    num_rounds = np.stack([count(rows) for rows in logs]).astype(np.float64)
    if num_rounds.min() < 2.0:
        return None
    num_lanes = len(launches[0].lanes)
    sampling = settings.round_seconds * num_lanes
    launch_cost = max(0.01, float(np.median([launch.seconds for launch in launches])) - sampling)
    round_cost = sampling / float(np.median(num_rounds))
    rounds = best_rounds(centres, errors, num_rounds, launch_cost=launch_cost, round_cost=round_cost)
    seconds = rounds * round_cost / num_lanes
    if settings.budget is not None:
        room = settings.budget / num_cells / LEAST_LAUNCHES - launch_cost
        seconds = min(seconds, max(room, WORTH * launch_cost) / num_lanes)
    return float(np.clip(seconds, SHORTEST, LONGEST))


def _primary_logs(matches: Sequence[Match], *, num_launches: int) -> list[FloatArray]:
    """Log-ratios of the primary phase, launch by round, of every variant that took part in all launches."""
    return [
        each.paired.logs[each.paired.phases.index(each.case.primary)][:num_launches]
        for each in matches
        if each.paired is not None
        and each.case.primary in each.paired.phases
        and len(each.paired.launches) >= num_launches
    ]
