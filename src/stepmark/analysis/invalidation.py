"""Invalidation: an error that the audit found takes the verdict away; ratio and interval stay to be seen."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from stepmark.records.finding import Finding, Severity
from stepmark.records.run import CaseJudgement, Judgement
from stepmark.records.verdict import Reason, Verdict, VerdictKind

KEPT = frozenset({Reason.SEPARATE_PROCESSES})
"""Reasons that are about how the numbers were made, and not about the verdict."""


def invalidate(judgement: Judgement, findings: tuple[Finding, ...]) -> Judgement:
    """The judgement with these findings, and without the verdicts that their errors forbid."""
    wrong = {each.case for each in findings if each.severity is Severity.ERROR and not each.accepted}
    cases = tuple(_without_verdicts(case, wrong) for case in judgement.cases) if wrong else judgement.cases
    return replace(judgement, cases=cases, findings=findings)


def _without_verdicts(case: CaseJudgement, wrong: Collection[str]) -> CaseJudgement:
    verdicts = tuple(_invalidated(verdict, wrong) for verdict in case.verdicts)
    return replace(case, verdicts=verdicts)


def _invalidated(verdict: Verdict, wrong: Collection[str]) -> Verdict:
    """A verdict that is INVALID already says why."""
    found = ((verdict.case, Reason.AUDIT), (verdict.baseline, Reason.BASELINE_AUDIT))
    reasons = tuple(reason for case, reason in found if case in wrong)
    if not reasons or verdict.kind is VerdictKind.INVALID:
        return verdict
    kept = tuple(reason for reason in verdict.reasons if reason in KEPT)
    return replace(verdict, kind=VerdictKind.INVALID, reasons=(*reasons, *kept))
