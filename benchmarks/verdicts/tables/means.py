"""Other means of the same launches: what a trimmed or a weighted one would have said."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
from scipy.special import stdtrit

from benchmarks.verdicts.conditions import WORKLOADS
from benchmarks.verdicts.evidence import Comparison, Evidence
from benchmarks.verdicts.rates import LEAST, smallest_effect
from benchmarks.verdicts.results import Launches, Load
from benchmarks.verdicts.section import NAMES, Section, effect_text, percent, table

WIDE = 0.975
TRIMMED = 10
"""One launch in so many is left out at either end."""

Mean = Callable[[Launches], tuple[float, float]]
"""Of the launches' centres: the point and half of its 95 % interval."""


def plain(launches: Launches) -> tuple[float, float]:
    """Student's, as the product has it."""
    centres = np.array(launches.centres)
    error = centres.std(ddof=1) / math.sqrt(centres.size)
    return float(centres.mean()), float(stdtrit(centres.size - 1, WIDE) * error)


def by_rounds(launches: Launches) -> tuple[float, float]:
    """Weighted by the number of rounds: the launches of the pilot are shorter."""
    centres, rounds = np.array(launches.centres), np.array(launches.rounds)
    weights, num = rounds / rounds.sum(), centres.size
    point = float(weights @ centres)
    variance = num / (num - 1) * float(weights**2 @ (centres - point) ** 2)
    return point, float(stdtrit(num - 1, WIDE)) * math.sqrt(variance)


def trimmed(launches: Launches) -> tuple[float, float]:
    """Without a tenth of the launches at either end; its error from the winsorised spread (Yuen 1974)."""
    centres = np.sort(launches.centres)
    cut = centres.size // TRIMMED
    kept = centres[cut : centres.size - cut]
    spread = float(np.clip(centres, kept[0], kept[-1]).var(ddof=1)) * (centres.size - 1)
    error = math.sqrt(spread / (kept.size * (kept.size - 1)))
    return float(kept.mean()), float(stdtrit(kept.size - 1, WIDE)) * error


MEANS: dict[str, Mean] = {
    "mean, as it is": plain,
    "weighted by rounds": by_rounds,
    f"without 1 in {TRIMMED} at either end": trimmed,
}


def section(evidence: Evidence) -> Section:
    every = [each for *_, found in evidence.identical() for each in found if _has_two(each)]
    quiet = {
        workload: [
            each for each in evidence.ours(workload=workload, threads=1, load=Load.QUIET) if _has_two(each)
        ]
        for workload in WORKLOADS
    }
    heads = ("mean of launches", "covers 1", "half-width", "EQUIVALENT", *(NAMES[each] for each in WORKLOADS))
    rows = [(name, *_row(mean, every, quiet)) for name, mean in MEANS.items()] if every else []
    return Section(
        "Other means of the same launches",
        "The same launches of identical code, after the whole budget. Coverage is of all conditions, "
        "half-width (median) and EQUIVALENT of one quiet thread; the last columns are the smallest "
        "effects as above. Where a few launches lie far out, Student's interval is wider than it need be "
        "and covers more than 95 %, and a trimmed mean is narrower. But that is another question: a "
        "variant that is slower in one process of fifteen would lose that launch, and be called "
        "EQUIVALENT. The mean over launches says what a run costs on average, and is what the verdicts "
        "use.",
        table(heads, rows),
    )


def _has_two(comparison: Comparison) -> bool:
    return len(comparison.ours.measured.launches.centres) > 1


def _row(mean: Mean, every: Sequence[Comparison], quiet: dict[str, list[Comparison]]) -> tuple[str, ...]:
    covered = [abs(point) <= half for point, half in _said(mean, every)]
    said = {workload: _said(mean, found) for workload, found in quiet.items()}
    alone = [each for found in said.values() for each in found]
    margin = math.log1p(every[0].ours.measured.margin)
    inside = [abs(point) + half < margin for point, half in alone]
    effects = (
        effect_text(smallest_effect([point for point, _ in said[each]], np.random.default_rng(0)))
        if len(said[each]) >= LEAST
        else "–"
        for each in WORKLOADS
    )
    return (
        percent(float(np.mean(covered)), digits=1),
        percent(median(half for _, half in alone)) if alone else "–",
        percent(float(np.mean(inside)), digits=0) if alone else "–",
        *effects,
    )


def _said(mean: Mean, found: Sequence[Comparison]) -> list[tuple[float, float]]:
    return [mean(comparison.ours.measured.launches) for comparison in found]
