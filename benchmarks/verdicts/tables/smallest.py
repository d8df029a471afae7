"""Smallest effects: what each tool's estimate could find in four comparisons of five, at 5 % false alarms."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.verdicts.conditions import PEERS, WORKLOADS
from benchmarks.verdicts.evidence import Evidence
from benchmarks.verdicts.rates import LEAST, Effect, smallest_effect
from benchmarks.verdicts.results import OURS, SEPARATE, Load
from benchmarks.verdicts.rules import STATISTICS
from benchmarks.verdicts.section import NAMES, Demand, Met, Section, effect_text, table

LIMITS = {"lora": 0.003, "norm_softmax": 0.004, "linear": 0.006, "adamw": 0.015}


def our_logs(evidence: Evidence, workload: str, *, tool: str = OURS, load: Load = Load.QUIET) -> list[float]:
    """Log-ratios of identical sides after the whole budget, 1 thread."""
    found = evidence.ours(tool=tool, workload=workload, threads=1, load=load)
    return [math.log(comparison.ours.measured.point) for comparison in found]


def peer_logs(
    evidence: Evidence, tool: str, workload: str, statistic: str, *, load: Load = Load.QUIET
) -> list[float]:
    pairs = evidence.peers(tool, workload=workload, load=load)
    return [math.log(getattr(pair.new, statistic) / getattr(pair.old, statistic)) for pair in pairs]


def section(evidence: Evidence) -> Section:
    generator = np.random.default_rng(0)
    effects = {workload: smallest_effect(our_logs(evidence, workload), generator) for workload in WORKLOADS}
    rows = [("**stepmark**", *(effect_text(effects[workload]) for workload in WORKLOADS))]
    logs = {
        "stepmark, separate processes": [our_logs(evidence, w, tool=SEPARATE) for w in WORKLOADS],
        "stepmark, bursts": [our_logs(evidence, w, load=Load.BURSTS) for w in WORKLOADS],
    }
    for tool in PEERS:
        for load in Load:
            for statistic in STATISTICS:
                name = f"{tool}, {statistic}" + (", bursts" if load is Load.BURSTS else "")
                logs[name] = [peer_logs(evidence, tool, w, statistic, load=load) for w in WORKLOADS]
    for name, of_workloads in logs.items():
        if any(of_workloads):
            cells = (effect_text(smallest_effect(each, generator)) for each in of_workloads)
            rows.append((name, *cells))
    return Section(
        "Smallest effect found in 80 % at 5 % false alarms",
        "By the estimate alone, whatever the tool's rule: a threshold on the ratio of identical sides is "
        "set so that at most 5 % exceed it, and the effect is the slowdown that lifts 80 % of the same "
        "estimates above it. 1 thread, the same time for all, stepmark without stopping early. Threshold "
        "and effect come from the same comparisons, which flatters everyone; the brackets are a 95 % "
        "bootstrap interval over "
        f"comparisons. A dash: fewer than {LEAST} comparisons.",
        table(("", *(NAMES[workload] for workload in WORKLOADS)), rows),
        [_demand(workload, effects[workload]) for workload in LIMITS],
    )


def _demand(workload: str, effect: Effect | None) -> Demand:
    text = f"{NAMES[workload]}: at most {100 * LIMITS[workload]:g} %"
    if effect is None:
        return Demand(text, Met.NO_DATA, "too few comparisons")
    met = Met.MET if effect.value <= LIMITS[workload] else Met.NOT_MET
    found = f"{100 * effect.value:.3g} %, of {effect.of} comparisons"  # a digit more: limits are near
    return Demand(text, met, found)
