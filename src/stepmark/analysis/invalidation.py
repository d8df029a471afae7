"""Invalidation: an error that the audit found takes the verdict away; ratio and interval stay to be seen."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from stepmark.records.comparison import Comparison, PhaseComparison
from stepmark.records.finding import Finding, Severity
from stepmark.records.run import CaseJudgement, Judgement
from stepmark.records.verdict import Reason, Verdict, VerdictKind

KEPT = frozenset({Reason.SEPARATE_PROCESSES, Reason.ONE_AFTER_ANOTHER, Reason.UNPAIRED})
"""Reasons that are about how the numbers were made, and not about the verdict."""


def wrong_cases(findings: Iterable[Finding]) -> frozenset[str]:
    """Cases with an error that nobody accepted."""
    return frozenset(each.case for each in findings if each.severity is Severity.ERROR and not each.accepted)


def invalidate(judgement: Judgement, findings: tuple[Finding, ...]) -> Judgement:
    """The judgement with these findings, and without the verdicts that their errors forbid."""
    wrong = wrong_cases(findings)
    cases = tuple(_without_verdicts(case, wrong) for case in judgement.cases) if wrong else judgement.cases
    return replace(judgement, cases=cases, findings=findings)


def invalidate_comparison(
    comparison: Comparison, *, baseline: Iterable[Finding], candidate: Iterable[Finding]
) -> Comparison:
    """The same for two runs, each with the findings of its own audit."""
    old, new = wrong_cases(baseline), wrong_cases(candidate)
    cases = tuple(
        replace(case, phases=tuple(_uncompared(phase, reasons) for phase in case.phases))
        if (reasons := _reasons(case.case.id in new, case.baseline.id in old))
        else case
        for case in comparison.cases
    )
    return replace(comparison, cases=cases)


def _uncompared(phase: PhaseComparison, reasons: tuple[Reason, ...]) -> PhaseComparison:
    if phase.kind is VerdictKind.INVALID:
        return phase
    kept = tuple(reason for reason in phase.reasons if reason in KEPT)
    return replace(phase, kind=VerdictKind.INVALID, reasons=(*reasons, *kept))


def _reasons(case: bool, baseline: bool) -> tuple[Reason, ...]:
    return ((Reason.AUDIT,) if case else ()) + ((Reason.BASELINE_AUDIT,) if baseline else ())


def _without_verdicts(case: CaseJudgement, wrong: Collection[str]) -> CaseJudgement:
    verdicts = tuple(_invalidated(verdict, wrong) for verdict in case.verdicts)
    return replace(case, verdicts=verdicts)


def _invalidated(verdict: Verdict, wrong: Collection[str]) -> Verdict:
    """A verdict that is INVALID already says why."""
    reasons = _reasons(verdict.case in wrong, verdict.baseline in wrong)
    if not reasons or verdict.kind is VerdictKind.INVALID:
        return verdict
    kept = tuple(reason for reason in verdict.reasons if reason in KEPT)
    return replace(verdict, kind=VerdictKind.INVALID, reasons=(*reasons, *kept))
