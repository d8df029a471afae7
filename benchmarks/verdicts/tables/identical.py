"""Identical sides: what stepmark says about a thing compared with itself."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from benchmarks.verdicts.conditions import WORKLOADS
from benchmarks.verdicts.evidence import Comparison, Evidence
from benchmarks.verdicts.rates import CONFIDENCE, Rate, rate
from benchmarks.verdicts.results import Load
from benchmarks.verdicts.section import (
    NAMES,
    Demand,
    Met,
    Section,
    at_least,
    at_most,
    between,
    count_text,
    percent,
    table,
)
from stepmark.records.verdict import VerdictKind
from stepmark.stats.student import t_interval

WOLF = (VerdictKind.FASTER, VerdictKind.SLOWER)
LEAST = 200


def alarms(comparisons: Sequence[Comparison], *, stopped: bool = True) -> Rate:
    """How often FASTER or SLOWER was said: by the stopping rule, or after the whole budget."""
    if stopped:
        return rate([comparison.stopped.verdict in WOLF for comparison in comparisons])
    return rate([comparison.ours.measured.verdict in WOLF for comparison in comparisons])


def called(comparisons: Sequence[Comparison], kind: VerdictKind) -> Rate:
    return rate([comparison.stopped.verdict is kind for comparison in comparisons])


def coverage(comparisons: Sequence[Comparison]) -> Rate:
    """How often the plain 95 % interval over all launches contains 1: no stopping, no margin."""
    return rate([low <= 0.0 <= high for low, high in map(_interval, comparisons)])


def half_width(comparisons: Sequence[Comparison]) -> float:
    """Median, on the logarithmic scale."""
    return median((high - low) / 2.0 for low, high in map(_interval, comparisons))


def _interval(comparison: Comparison) -> tuple[float, float]:
    centres = np.array(comparison.ours.measured.launches.centres)
    interval = t_interval(centres, confidence=CONFIDENCE)
    return float(interval.low), float(interval.high)


def section(evidence: Evidence) -> Section:
    rows = [
        (NAMES[workload], str(threads), load.value, *_row(found))
        for workload, threads, load, found in evidence.identical()
    ]
    heads = (
        *("workload", "threads", "load", "n", "FASTER or SLOWER", "after the whole budget", "EQUIVALENT"),
        *("INCONCLUSIVE", "95 % interval covers 1", "half-width", "launches", "seconds"),
    )
    apart = sum(comparison.ours.measured.set_apart for comparison in evidence.ours())
    return Section(
        "Identical code",
        "Both sides are the same workload. Every comparison was measured to the end of its budget; the "
        "verdicts are what the early stopping, replayed on the launches in their order, would have said, "
        "with the launches and seconds it would have needed (medians). Coverage and half-width are of the "
        "plain 95 % interval over all launches, which neither the margin nor the stopping helps.",
        table(heads, rows),
        _demands(evidence),
        f"In {apart} of these comparisons the run itself moved the sides into separate processes, because "
        "company seemed to change a level."
        if apart
        else "",
    )


def _row(found: Sequence[Comparison]) -> tuple[str, ...]:
    whole = alarms(found, stopped=False)
    return (
        str(len(found)),
        str(alarms(found).num),
        str(whole.num),
        percent(called(found, VerdictKind.EQUIVALENT).value, digits=0),
        percent(called(found, VerdictKind.INCONCLUSIVE).value, digits=0),
        count_text(coverage(found)),
        percent(half_width(found)),
        f"{median(c.stopped.num_launches for c in found):.0f}",
        f"{median(c.seconds for c in found):.1f}",
    )


def _demands(evidence: Evidence) -> list[Demand]:
    by_workload = {NAMES[workload]: evidence.ours(workload=workload) for workload in WORKLOADS}
    quiet = {
        NAMES[workload]: evidence.ours(workload=workload, threads=1, load=Load.QUIET)
        for workload in WORKLOADS[:3]
    }
    total = len(evidence.ours())
    return [
        Demand(
            f"at least {LEAST} comparisons",
            Met.MET if total >= LEAST else Met.NOT_MET,
            f"{total} comparisons",
        ),
        at_most(
            "FASTER or SLOWER in at most 1 %, in every workload",
            {name: alarms(found) for name, found in by_workload.items()},
            0.01,
        ),
        at_most(
            "the same after the whole budget",
            {name: alarms(found, stopped=False) for name, found in by_workload.items()},
            0.01,
        ),
        at_least(
            "EQUIVALENT in at least 90 %, first three workloads, 1 thread, quiet",
            {name: called(found, VerdictKind.EQUIVALENT) for name, found in quiet.items()},
            0.90,
        ),
        between(
            "the 95 % interval covers 1 in 93 to 97 %",
            {"all": coverage(evidence.ours())},
            0.93,
            0.97,
        ),
        between(
            "the same in every workload",
            {name: coverage(found) for name, found in by_workload.items()},
            0.93,
            0.97,
        ),
    ]
