"""Verdicts of one case against the baseline of its cell, the primary phase first."""

from __future__ import annotations

from dataclasses import dataclass

from stepmark.analysis.compare import MIN_PAIRED_ROUNDS, compare
from stepmark.analysis.seeds import generator_for
from stepmark.analysis.times import REMAINDER, Times
from stepmark.analysis.trials import CaseTrials
from stepmark.analysis.verdict import decide, explain
from stepmark.records.estimate import Estimate
from stepmark.records.sample import Layout
from stepmark.records.settings import Policy, Settings
from stepmark.records.verdict import Reason, Verdict, VerdictKind


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    trials: CaseTrials
    times: Times | None
    """None where nothing was measured."""

    @property
    def primary(self) -> str | None:
        layout = self.times.layout if self.times else self.trials.layout
        return layout.primary if layout else None


def give_verdicts(case: Side, baseline: Side, *, policy: Policy, settings: Settings) -> tuple[Verdict, ...]:
    """One per phase the two share; a single INVALID one where there is nothing to compare.

    Its phase is the case's primary, else the baseline's, and empty where neither has ever run.
    """
    reasons = _nothing_to_compare(case, baseline)
    if reasons or case.times is None or baseline.times is None:
        phase = case.primary or baseline.primary or ""
        return (_invalid(case, baseline, phase, reasons, policy),)
    primary = case.times.layout.primary
    shared = tuple(p for p in case.times.phases if p in baseline.times.phases and p != REMAINDER)
    different = _different(case.times.layout, baseline.times.layout)
    ratios = compare(
        case.times,
        baseline.times,
        tuple(phase for phase in shared if phase not in different),
        min_rounds=max(1, min(MIN_PAIRED_ROUNDS, settings.min_rounds)),
        confidence=policy.confidence,
        generator=generator_for(settings.seed, case.trials.case.id, "ratio"),
    )
    verdicts = []
    for phase in (primary, *(phase for phase in shared if phase != primary)):
        if phase in different:
            verdicts.append(_invalid(case, baseline, phase, (Reason.PHASES_DIFFER,), policy))
        elif phase in ratios:
            verdicts.append(_judge(case, baseline, phase, ratios[phase], policy))
        elif phase == primary:
            verdicts.append(_invalid(case, baseline, phase, (Reason.NOT_MEASURED,), policy))
    return tuple(verdicts)


def _nothing_to_compare(case: Side, baseline: Side) -> tuple[Reason, ...]:
    """Failures first; a case that failed in company is not compared, though it has samples."""
    reasons = []
    if case.trials.failure is not None:
        reasons.append(Reason.CASE_FAILED)
    if baseline.trials.failure is not None:
        reasons.append(Reason.BASELINE_FAILED)
    if not reasons and (case.times is None or baseline.times is None):
        reasons.append(Reason.NOT_MEASURED)
    return tuple(reasons)


def _different(case: Layout, baseline: Layout) -> frozenset[str]:
    """Phases that mean different things in the two: the primary, and a whole made of other phases."""
    same_whole = case.whole == baseline.whole
    same_parts = case.whole is None or set(case.phases) == set(baseline.phases)
    if case.primary == baseline.primary and same_whole and same_parts:
        return frozenset()
    return frozenset(phase for phase in (case.primary, case.whole, baseline.whole) if phase is not None)


def _judge(case: Side, baseline: Side, phase: str, ratio: Estimate, policy: Policy) -> Verdict:
    kind = decide(ratio, margin=policy.margin)
    return Verdict(
        case=case.trials.case.id,
        baseline=baseline.trials.case.id,
        phase=phase,
        kind=kind,
        policy=policy,
        ratio=ratio,
        reasons=explain(kind, ratio, separate=case.trials.separate),
    )


def _invalid(case: Side, baseline: Side, phase: str, reasons: tuple[Reason, ...], policy: Policy) -> Verdict:
    return Verdict(
        case=case.trials.case.id,
        baseline=baseline.trials.case.id,
        phase=phase,
        kind=VerdictKind.INVALID,
        policy=policy,
        reasons=reasons,
    )
