"""Unpaired verdicts: one case in two runs that were not interleaved, phase by phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepmark.analysis.launch_levels import Levels
from stepmark.analysis.run_history import History
from stepmark.analysis.trials import CaseTrials
from stepmark.analysis.verdict import decide
from stepmark.records.comparison import (
    CaseComparison,
    Difference,
    PhaseComparison,
    Standing,
    Terms,
)
from stepmark.records.estimate import Estimate, Method
from stepmark.records.verdict import Reason, VerdictKind
from stepmark.stats.unpaired import welch


@dataclass(frozen=True)
class CasePair:
    """One case in the two runs."""

    baseline: CaseTrials
    candidate: CaseTrials
    levels: tuple[Levels, Levels] | None
    """Baseline and candidate, phases they share; None where either was not measured."""
    num_rounds: int
    """The minimum of a launch is that of so many rounds, in both runs."""
    differences: tuple[Difference, ...]

    @property
    def primary(self) -> str:
        """The candidate's, else the baseline's, empty where neither has ever run."""
        layout = self.candidate.layout or self.baseline.layout
        return layout.primary if layout else ""

    @property
    def refused(self) -> bool:
        return any(difference.standing is Standing.REFUSED for difference in self.differences)


def compare_case(pair: CasePair, history: History, *, terms: Terms, refused: bool) -> CaseComparison:
    """One verdict per shared phase, the primary first; `refused` where the runs as wholes are."""
    return CaseComparison(
        case=pair.candidate.case,
        baseline=pair.baseline.case,
        phases=_phases(pair, history, terms, refused=refused or pair.refused),
        differences=pair.differences,
    )


def _phases(pair: CasePair, history: History, terms: Terms, *, refused: bool) -> tuple[PhaseComparison, ...]:
    reasons = _nothing_to_compare(pair)
    if reasons or pair.levels is None:
        return (_invalid(pair.primary, reasons),)
    shared = pair.levels[0].phases
    compared = [
        _phase(pair, pair.levels, place, history, terms, refused=refused) for place in range(len(shared))
    ]
    if pair.primary not in shared:
        return (_invalid(pair.primary, (Reason.PHASES_DIFFER,)), *compared)
    return tuple(sorted(compared, key=lambda phase: phase.phase != pair.primary))


def _nothing_to_compare(pair: CasePair) -> tuple[Reason, ...]:
    """Failures first; a case that failed in company is not compared, though it has samples."""
    reasons = []
    if pair.candidate.failure is not None:
        reasons.append(Reason.CASE_FAILED)
    if pair.baseline.failure is not None:
        reasons.append(Reason.BASELINE_FAILED)
    if not reasons and pair.levels is None:
        reasons.append(Reason.NOT_MEASURED)
    return tuple(reasons)


def _invalid(phase: str, reasons: tuple[Reason, ...]) -> PhaseComparison:
    return PhaseComparison(phase=phase, kind=VerdictKind.INVALID, reasons=(*reasons, Reason.UNPAIRED))


def _phase(
    pair: CasePair,
    levels: tuple[Levels, Levels],
    place: int,
    history: History,
    terms: Terms,
    *,
    refused: bool,
) -> PhaseComparison:
    """The levels are shown in any case; a ratio is formed only where it may be."""
    old, new = levels
    phase = old.phases[place]
    kind, ratio, spread, reasons = VerdictKind.INVALID, None, None, [Reason.UNPAIRED]
    if not refused and min(old.num_launches, new.num_launches) < 2:
        kind, reasons = VerdictKind.INCONCLUSIVE, [Reason.ONE_LAUNCH, Reason.UNPAIRED]
    elif not refused:
        between, spread = history.between((pair.baseline.case.id, pair.candidate.case.id), phase)
        interval = welch(old.logs[place], new.logs[place], between, confidence=terms.policy.confidence)
        point, low, high = (float(edge) for edge in interval)
        ratio = Estimate(
            point=point,
            low=low,
            high=high,
            confidence=terms.policy.confidence,
            method=Method.WELCH_LAUNCHES,
            num_launches=min(old.num_launches, new.num_launches),
        )
        kind = decide(ratio, margin=terms.policy.margin)
        if kind is VerdictKind.INCONCLUSIVE:
            reasons.insert(0, Reason.INTERVAL_CROSSES_MARGIN)
    return PhaseComparison(
        phase=phase,
        kind=kind,
        ratio=ratio,
        reasons=tuple(reasons),
        baseline_seconds=float(np.exp(old.points[place])),
        candidate_seconds=float(np.exp(new.points[place])),
        baseline_launches=old.num_launches,
        candidate_launches=new.num_launches,
        spread=spread,
    )
