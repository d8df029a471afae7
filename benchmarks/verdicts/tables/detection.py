"""Detection: how often stepmark calls an injected slowdown SLOWER, and how soon."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.verdicts.conditions import EFFECTS, WORKLOADS
from benchmarks.verdicts.evidence import Comparison, Evidence
from benchmarks.verdicts.rates import Rate, rate
from benchmarks.verdicts.results import Load
from benchmarks.verdicts.section import NAMES, Section, at_least, count_text, table, threads_text
from stepmark.records.verdict import VerdictKind

SETTINGS = ((1, Load.QUIET), (2, Load.QUIET), (1, Load.BURSTS), (2, Load.BURSTS))


def found_slower(comparisons: Sequence[Comparison]) -> Rate:
    return rate([comparison.stopped.verdict is VerdictKind.SLOWER for comparison in comparisons])


def section(evidence: Evidence) -> Section:
    rows = []
    for threads, load in SETTINGS:
        for workload in WORKLOADS:
            found = [
                evidence.ours(workload=workload, threads=threads, load=load, effect=effect)
                for effect in EFFECTS
            ]
            if any(found):
                rows.append((NAMES[workload], str(threads), load.value, *map(_cell, found)))
    quiet = {
        f"{NAMES[workload]} at {100 * effect:g} %": found_slower(
            evidence.ours(workload=workload, threads=1, load=Load.QUIET, effect=effect)
        )
        for workload, effect in zip(WORKLOADS, (0.02, 0.02, 0.02, 0.03), strict=True)
    }
    elsewhere = {
        f"{NAMES[workload]}, {threads_text(threads)}, {load}": found_slower(
            evidence.ours(workload=workload, threads=threads, load=load, effect=0.05)
        )
        for threads, load in SETTINGS[1:]
        for workload in WORKLOADS
    }
    return Section(
        "Injected slowdowns",
        "How often a slowdown of that size was called SLOWER, of how many comparisons, and the median "
        "seconds until the verdict. These runs stop early, as the product does. The margin is 1 %, so a "
        "slowdown of 1 % is at its edge and ought to be called SLOWER in 2.5 % or less.",
        table(("workload", "threads", "load", *(f"{100 * effect:g} %" for effect in EFFECTS)), rows),
        [
            at_least("at least 95 % at 2 % (AdamW: 3 %), 1 thread, quiet", quiet, 0.95),
            at_least("at least 90 % at 5 % with 2 threads and under bursts", elsewhere, 0.90),
        ],
    )


def _cell(found: Sequence[Comparison]) -> str:
    if not found:
        return "–"
    return f"{count_text(found_slower(found))}, {median(c.seconds for c in found):.1f} s"
