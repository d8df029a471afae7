"""Separate processes: the price where two versions cannot share one."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.verdicts.conditions import WORKLOADS
from benchmarks.verdicts.evidence import Comparison, Evidence
from benchmarks.verdicts.results import OURS, SEPARATE, Load
from benchmarks.verdicts.section import NAMES, Section, at_most, count_text, percent, table
from benchmarks.verdicts.tables.identical import alarms, called, coverage, half_width
from benchmarks.verdicts.tables.variance import between_launches
from stepmark.records.verdict import VerdictKind


def section(evidence: Evidence) -> Section:
    rows, rates = [], {}
    for workload in WORKLOADS:
        apart, shared = (
            evidence.ours(tool=tool, workload=workload, threads=1, load=Load.QUIET)
            for tool in (SEPARATE, OURS)
        )
        if not apart:
            continue
        rates[NAMES[workload]] = alarms(apart)
        rows.append((NAMES[workload], "separate", *_row(apart), _price(apart, shared)))
        if shared:
            rows.append((NAMES[workload], "shared", *_row(shared), "1"))
    heads = (
        *("workload", "processes", "n", "FASTER or SLOWER", "EQUIVALENT", "covers 1", "half-width"),
        *("launches", "SD between launches", "launches for the same width"),
    )
    return Section(
        "Two versions that cannot share a process",
        "`--isolation separate`, identical code, 1 thread, quiet, the whole budget; the same in a shared "
        "process for comparison. In separate processes the levels of the processes do not cancel. The last "
        "column is the price: how many times as many launches it takes for an interval as narrow.",
        table(heads, rows),
        [at_most("false alarms at most 2 %", rates or {"separate": alarms([])}, 0.02)],
    )


def _row(found: Sequence[Comparison]) -> tuple[str, ...]:
    return (
        str(len(found)),
        str(alarms(found).num),
        percent(called(found, VerdictKind.EQUIVALENT).value, digits=0),
        count_text(coverage(found)),
        percent(half_width(found)),
        f"{median(len(c.ours.measured.launches.centres) for c in found):.0f}",
        percent(between_launches(found)),
    )


def _price(apart: Sequence[Comparison], shared: Sequence[Comparison]) -> str:
    if not shared:
        return "–"
    return f"{(between_launches(apart) / between_launches(shared)) ** 2:.0f}"
