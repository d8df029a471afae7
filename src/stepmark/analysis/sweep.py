"""A sweep's verdicts: what chance had many tries at must stand against all of them, and survive fresh
launches.

Method. The p-values of all comparisons of one phase, each against the margin, go through Benjamini and
Hochberg at
        the policy's alpha. A FASTER or SLOWER that does not stand is INCONCLUSIVE. One that stands in a run
        of several cells must then be confirmed: launches made after it was flagged, by themselves, put the
        ratio on the same side of 1 (one-sided, at the policy's alpha). Picking the largest of many flatters
        them; fresh launches do not know what was picked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from stepmark.analysis.strength import MOST_LAUNCHES, among
from stepmark.records.run import Run
from stepmark.records.settings import Policy, Settings
from stepmark.records.verdict import Reason, Verdict, VerdictKind
from stepmark.stats.arrays import FloatArray, deviation
from stepmark.stats.fdr import above_zero, discoveries
from stepmark.stats.power import needed

DIFFERENT = frozenset({VerdictKind.FASTER, VerdictKind.SLOWER})


def flags(verdicts: Sequence[Verdict], *, policy: Policy) -> list[bool]:
    """Of verdicts on one phase: which FASTER and SLOWER stand among all comparisons."""
    if not any(verdict.kind in DIFFERENT for verdict in verdicts):
        return [False] * len(verdicts)
    rate = 1.0 - policy.confidence
    p_values = np.array([1.0 if v.p_value is None else v.p_value for v in verdicts if v.ratio is not None])
    stand = iter(discoveries(p_values, rate=rate).tolist())
    return [bool(v.ratio is not None and next(stand)) and v.kind in DIFFERENT for v in verdicts]


def control(
    verdicts: Sequence[Verdict],
    fresh: Sequence[FloatArray | None],
    *,
    policy: Policy,
    confirm: int,
) -> list[Verdict]:
    """The verdicts of one phase over all comparisons of a run; `fresh` has the centres of each one's
    confirming launches, where there are any, and `confirm` says how many the run asks for at least."""
    judged = []
    for verdict, stands, centres in zip(verdicts, flags(verdicts, policy=policy), fresh, strict=True):
        reason: Reason | None = None
        if verdict.kind in DIFFERENT and not stands:
            reason = Reason.TOO_MANY_CELLS
        elif verdict.kind in DIFFERENT and confirm:
            reason = _objection(verdict, centres, policy=policy)
        if reason is None:
            judged.append(verdict)
            continue
        took = _needed(verdict, reason, centres, confirm=confirm, num_comparisons=len(verdicts))
        judged.append(_doubt(verdict, reason, took))
    return judged


def _objection(verdict: Verdict, centres: FloatArray | None, *, policy: Policy) -> Reason | None:
    if centres is None or centres.size < 2:
        return Reason.NOT_REMEASURED
    error = float(centres.std(ddof=1) / np.sqrt(centres.size))
    p = above_zero(_side(verdict) * float(centres.mean()), error, centres.size)
    return None if p <= 1.0 - policy.confidence else Reason.NOT_CONFIRMED


def _doubt(verdict: Verdict, reason: Reason, took: int | None) -> Verdict:
    """INCONCLUSIVE after all, with the launches that it would take."""
    power = None if verdict.power is None else replace(verdict.power, needed=took)
    return replace(verdict, kind=VerdictKind.INCONCLUSIVE, reasons=(reason, *verdict.reasons), power=power)


def _needed(
    verdict: Verdict, reason: Reason, fresh: FloatArray | None, *, confirm: int, num_comparisons: int
) -> int | None:
    """Launches to stand among all comparisons; of one that stands those it has, and as many fresh ones as
    would confirm it, if the ratio is what these say; None where they say the opposite."""
    if verdict.ratio is None or verdict.power is None:
        return None
    policy, made = verdict.policy, verdict.ratio.num_launches
    if reason is Reason.NOT_REMEASURED:
        return made + _fresh_launches(made, confirm)
    if reason is Reason.NOT_CONFIRMED and fresh is not None:
        distance = _side(verdict) * float(fresh.mean())
        one_sided = 2.0 * policy.confidence - 1.0
        more = needed(float(deviation(fresh)), distance, confidence=one_sided, most=MOST_LAUNCHES)
        return None if more is None else made + more
    distance = abs(math.log(verdict.ratio.point)) - math.log1p(policy.margin)
    confidence = among(num_comparisons, policy.confidence)
    return needed(verdict.power.deviation, distance, confidence=confidence, most=MOST_LAUNCHES)


def _side(verdict: Verdict) -> float:
    return 1.0 if verdict.kind is VerdictKind.SLOWER else -1.0


def num_comparisons(run: Run) -> int:
    """How many primary verdicts the run will have: what chance has tries at."""
    baselines = {outline.name: outline.baseline for outline in run.suites}
    return sum(case.variant != baselines[case.cell.suite] for case in run.cases)


def wants_confirmation(num_cells: int, settings: Settings) -> bool:
    """A sweep, that is a run of several cells, measures again what it flags."""
    return num_cells > 1 and settings.confirm > 0


def launches_to_confirm(measured: Mapping[str, int], settings: Settings) -> dict[str, int]:
    """Fresh launches for each flagged cell, from the number of launches it was flagged by: half as many, and
    at least what the settings ask for."""
    return {cell: _fresh_launches(num, settings.confirm) for cell, num in measured.items()}


def _fresh_launches(num: int, least: int) -> int:
    return max(least, -(-num // 2))
