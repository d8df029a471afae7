"""Peers: false alarms and detection by each tool's own rule, and at equal false alarms, ours beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.verdicts.conditions import PEER_EFFECTS, WORKLOADS
from benchmarks.verdicts.evidence import Comparison, Evidence, Pair
from benchmarks.verdicts.rates import LEAST, Rate, rate, threshold
from benchmarks.verdicts.results import Load
from benchmarks.verdicts.rules import RULES, Answer, Rule
from benchmarks.verdicts.section import NAMES, Demand, Met, Section, count_text, rate_text, table
from benchmarks.verdicts.tables.detection import found_slower
from benchmarks.verdicts.tables.identical import alarms


@dataclass(frozen=True)
class Standing:
    """How one tool did, over all workloads on the quiet machine with one thread."""

    name: str
    alarms: Rate
    by_workload: tuple[Rate, ...]
    by_rule: tuple[Rate, ...]
    """Detection at each effect by the tool's own rule."""
    at_equal: tuple[Rate, ...]
    """Detection at each effect with the threshold tuned to 5 % false alarms."""


def our_standing(evidence: Evidence, load: Load = Load.QUIET) -> Standing:
    def select(workload: str | None, effect: float) -> list[Comparison]:
        return evidence.ours(workload=workload, threads=1, load=load, effect=effect)

    return Standing(
        name="**stepmark**" + _under(load),
        alarms=alarms(select(None, 0.0)),
        by_workload=tuple(alarms(select(workload, 0.0)) for workload in WORKLOADS),
        by_rule=tuple(found_slower(select(None, effect)) for effect in PEER_EFFECTS),
        at_equal=_at_equal(select, lambda comparison: math.log(comparison.stopped.point)),
    )


def standing(evidence: Evidence, rule: Rule, load: Load = Load.QUIET) -> Standing:
    def select(workload: str | None, effect: float) -> list[Pair]:
        return evidence.peers(rule.tool, workload=workload, load=load, effect=effect)

    def answers(workload: str | None, effect: float) -> list[Answer]:
        return [rule.decide(pair.old, pair.new) for pair in select(workload, effect)]

    identical = [rate([answer is not Answer.SAME for answer in answers(w, 0.0)]) for w in WORKLOADS]
    return Standing(
        name=f"{rule.tool}, {rule.name}" + _under(load),
        alarms=rate([i < each.num for each in identical for i in range(each.of)]),
        by_workload=tuple(identical),
        by_rule=tuple(
            rate([answer is Answer.SLOWER for answer in answers(None, effect)]) for effect in PEER_EFFECTS
        ),
        at_equal=_at_equal(select, lambda pair: rule.log_ratio(pair.old, pair.new)),
    )


def _under(load: Load) -> str:
    return ", bursts" if load is Load.BURSTS else ""


def _at_equal(
    select: Callable[[str | None, float], Sequence[Any]], log_ratio: Callable[[Any], float]
) -> tuple[Rate, ...]:
    """The threshold is tuned in each workload by itself."""
    hits: dict[float, list[bool]] = {effect: [] for effect in PEER_EFFECTS}
    for workload in WORKLOADS:
        identical = np.array([log_ratio(each) for each in select(workload, 0.0)])
        if identical.size < LEAST:
            continue
        limit = threshold(identical)
        for effect in PEER_EFFECTS:
            hits[effect] += [log_ratio(each) > limit for each in select(workload, effect)]
    return tuple(rate(each) for each in hits.values())


def section(evidence: Evidence) -> Section:
    ours = our_standing(evidence)
    theirs = [standing(evidence, rule) for rule in RULES if evidence.peers(rule.tool)]
    bursts = [our_standing(evidence, Load.BURSTS)]
    bursts += [
        standing(evidence, rule, Load.BURSTS) for rule in RULES if evidence.peers(rule.tool, load=Load.BURSTS)
    ]
    effects = [f"+{100 * effect:g} %" for effect in PEER_EFFECTS]
    heads = (
        *("tool and rule", "false alarms", *(NAMES[workload] for workload in WORKLOADS)),
        *(f"{effect} by its rule" for effect in effects),
        *(f"{effect} at 5 % false alarms" for effect in effects),
    )
    return Section(
        "Beside the tools people use",
        f"The same workloads, 1 thread, {_lengths(evidence)} of measuring a comparison, in the same hours. "
        "Each tool is given what a user would do: one run before, one after, each in fresh processes, right "
        "after one another and with half of the time, importing torch not counted. A visit runs the base "
        "three times, then slowed (or backwards) and neighbours are compared, so the runs between serve "
        "twice and intervals are a little too narrow. Columns of workloads split the false alarms. At 5 % "
        "false alarms: the threshold on the tool's ratio is tuned to identical sides in each workload. "
        "pytest-benchmark's option finds regressions only, so half of its false alarms are not seen.",
        table(heads, [_row(each) for each in (ours, *theirs, *bursts)]),
        [demand for each in theirs for demand in _demands(ours, each)],
    )


def _lengths(evidence: Evidence) -> str:
    return " or ".join(f"{seconds:g} s" for seconds in sorted({each.seconds for each in evidence.sessions}))


def _row(each: Standing) -> tuple[str, ...]:
    return (
        each.name,
        rate_text(each.alarms),
        *(f"{part.num}/{part.of}" if part.of else "–" for part in each.by_workload),
        *map(count_text, (*each.by_rule, *each.at_equal)),
    )


def _demands(ours: Standing, other: Standing) -> list[Demand]:
    alarms_evidence = f"{rate_text(ours.alarms)} against {rate_text(other.alarms)}"
    found = [
        f"{count_text(mine)} against {count_text(its)} at +{100 * effect:g} %"
        for effect, mine, its in zip(PEER_EFFECTS, ours.at_equal, other.at_equal, strict=True)
    ]
    return [
        Demand(f"fewer false alarms than {other.name}", _less(ours.alarms, other.alarms), alarms_evidence),
        Demand(
            f"detects more than {other.name} at equal false alarms",
            _worst([_less(its, mine) for mine, its in zip(ours.at_equal, other.at_equal, strict=True)]),
            "; ".join(found),
        ),
    ]


def _less(low: Rate, high: Rate) -> Met:
    if not (low.of and high.of):
        return Met.NO_DATA
    if low.value == high.value:
        return Met.TIED
    return Met.MET if low.value < high.value else Met.NOT_MET


def _worst(each: Sequence[Met]) -> Met:
    """Tied where all find the same; met where at least one effect is found more often and none less."""
    if Met.NO_DATA in each:
        return Met.NO_DATA
    if Met.NOT_MET in each:
        return Met.NOT_MET
    return Met.MET if Met.MET in each else Met.TIED
