"""Limits: what the noise of single rounds would leave, were the whole budget nothing but rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, median
from typing import NamedTuple

from benchmarks.verdicts.conditions import WORKLOADS
from benchmarks.verdicts.evidence import Comparison, Evidence
from benchmarks.verdicts.results import Load
from benchmarks.verdicts.section import NAMES, Section, number, percent, table
from benchmarks.verdicts.tables.variance import within_launch
from stepmark.records.settings import Settings

MEDIAN = math.sqrt(math.pi / 2.0)
"""The error of a median over that of a mean, where the noise is normal."""
ASKED = {"norm_softmax": 0.02, "lora": 0.02, "linear": 0.02, "adamw": 0.03}
"""The slowdown that is to be found in 95 %."""


class Limit(NamedTuple):
    """Of one workload on one quiet thread; chances and effects are those of the best case."""

    call: float
    spread: float
    rounds: float
    most_rounds: float
    half_width: float
    equivalent: float
    found: float
    smallest: float


def limit_of(found: Sequence[Comparison], *, seconds: float, effect: float) -> Limit:
    """A round is a block of each side, and nothing between them; rounds are independent and normal."""
    measured = [comparison.ours.measured for comparison in found]
    call = median(level for each in measured for level in each.launches.levels)
    spread, margin = within_launch(found), math.log1p(measured[0].margin)
    most = seconds / (2.0 * max(call, Settings().block_seconds))
    error = MEDIAN * spread / math.sqrt(most)
    normal = NormalDist()
    wide, power = normal.inv_cdf(0.975), normal.inv_cdf(0.8)
    return Limit(
        call=call,
        spread=spread,
        rounds=median(sum(each.launches.rounds) for each in measured),
        most_rounds=most,
        half_width=wide * error,
        equivalent=max(0.0, 2.0 * normal.cdf(margin / error - wide) - 1.0),
        found=normal.cdf((math.log1p(effect) - margin) / error - wide),
        smallest=math.expm1((wide + power) * error),
    )


def section(evidence: Evidence) -> Section:
    seconds = evidence.sessions[0].seconds if evidence.sessions else math.nan
    rows = []
    for workload in WORKLOADS:
        found = evidence.ours(workload=workload, threads=1, load=Load.QUIET)
        if found:
            limit = limit_of(found, seconds=seconds, effect=ASKED[workload])
            rows.append((NAMES[workload], *_cells(limit, ASKED[workload])))
    heads = (
        *("workload", "a call", "ratio, round to round", "rounds in a comparison", "at best"),
        *("half-width at best", "EQUIVALENT at best", "found at best", "smallest effect at best"),
    )
    return Section(
        "What the noise leaves",
        "The demands on one quiet thread, held against the noise of this machine. At best means: all of "
        f"the {seconds:g} s are blocks, none is starting, building or warming up, rounds are independent "
        "and normal, launches and instances add nothing, and the interval is that of a normal mean. What "
        "is not met even there is out of reach for pairs of calls on this machine, or nearly: noise more "
        "peaked than normal does a little better. The distance from there to the tables above is what "
        "stepmark's protocol costs.",
        table(heads, rows),
    )


def _cells(limit: Limit, effect: float) -> tuple[str, ...]:
    return (
        f"{number(1e6 * limit.call)} µs",
        percent(limit.spread, digits=1),
        f"{limit.rounds:.0f}",
        f"{limit.most_rounds:.0f}",
        percent(limit.half_width),
        percent(limit.equivalent, digits=0),
        f"{percent(limit.found, digits=0)} at {100 * effect:g} %",
        percent(limit.smallest),
    )
