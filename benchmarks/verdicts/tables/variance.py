"""Where the variance lives: rounds, launches, and the levels of processes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

import numpy as np

from benchmarks.verdicts.evidence import Comparison, Evidence
from benchmarks.verdicts.section import NAMES, Section, percent, table


def between_launches(found: Sequence[Comparison]) -> float:
    """Standard deviation of the launches' centres inside a comparison, pooled over comparisons."""
    return _pooled([comparison.ours.measured.launches.centres for comparison in found])


def between_levels(found: Sequence[Comparison]) -> float:
    """The same for the logarithm of the base's time: what two processes differ by."""
    return _pooled([np.log(comparison.ours.measured.launches.levels).tolist() for comparison in found])


def within_launch(found: Sequence[Comparison]) -> float:
    return median(spread for comparison in found for spread in comparison.ours.measured.launches.spreads)


def _pooled(groups: Sequence[Sequence[float]]) -> float:
    variances = [float(np.var(group, ddof=1)) for group in groups if len(group) > 1]
    return math.sqrt(fmean(variances)) if variances else math.nan


def section(evidence: Evidence) -> Section:
    rows = [
        (NAMES[workload], str(threads), load.value, *_row(found))
        for workload, threads, load, found in evidence.identical()
    ]
    heads = (
        *("workload", "threads", "load", "rounds a launch", "ratio, round to round"),
        *("its share in a launch", "ratio, launch to launch", "level, process to process"),
    )
    return Section(
        "Where the variance lives",
        "Standard deviations on identical code. The share in a launch is what the rounds alone would leave "
        "in the centre of a launch (1.25 times the spread of rounds over the square root of their number, "
        "were rounds independent); what the launches differ by beyond it comes from the instances, not "
        "from the clock. The last column is what a comparison of two processes has to live with.",
        table(heads, rows),
    )


def _row(found: Sequence[Comparison]) -> tuple[str, ...]:
    rounds = median(num for comparison in found for num in comparison.ours.measured.launches.rounds)
    spread = within_launch(found)
    return (
        f"{rounds:.0f}",
        percent(spread, digits=1),
        percent(1.2533 * spread / math.sqrt(rounds)),
        percent(between_launches(found)),
        percent(between_levels(found), digits=1),
    )
