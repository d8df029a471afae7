"""Failures and findings of a run, grouped so that forty cases of one cause read as one."""

from __future__ import annotations

from collections.abc import Iterable

from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.outcome import Outcome, Stage
from stepmark.records.record import Record
from stepmark.records.run import CaseJudgement
from stepmark.report.marks import Letters


class FailureGroup(Record, frozen=True, kw_only=True):
    """Cases of one variant that failed in the same way."""

    variant: str
    outcome: Outcome
    stage: Stage
    message: str
    cases: tuple[str, ...]
    """Case ids."""


class FindingGroup(Record, frozen=True, kw_only=True):
    """One finding, wherever it was made."""

    name: FindingName
    severity: Severity
    meaning: str
    remedy: str
    accepted: bool
    letter: str
    """Beside the verdicts of its cases; empty for a note."""
    places: tuple[tuple[str, str], ...]
    """Case id and message."""


def group_failures(cases: Iterable[CaseJudgement]) -> tuple[FailureGroup, ...]:
    """By variant and message, in the order of first appearance."""
    groups: dict[tuple[str, Outcome, Stage, str], list[str]] = {}
    for case in cases:
        failure = case.failure
        if failure:
            key = (case.case.variant, failure.outcome, failure.stage, failure.message)
            groups.setdefault(key, []).append(case.case.id)
    return tuple(
        FailureGroup(variant=variant, outcome=outcome, stage=stage, message=message, cases=tuple(ids))
        for (variant, outcome, stage, message), ids in groups.items()
    )


def group_findings(findings: Iterable[Finding], letters: Letters) -> tuple[FindingGroup, ...]:
    """By name and remedy, the gravest first, what was accepted among its severity last."""
    groups: dict[tuple[FindingName, Severity, bool, str], list[Finding]] = {}
    for finding in findings:
        key = (finding.name, finding.severity, finding.accepted, finding.remedy)
        groups.setdefault(key, []).append(finding)
    grave = list(Severity)
    return tuple(
        FindingGroup(
            name=name,
            severity=severity,
            meaning=alike[0].meaning,
            remedy=remedy,
            accepted=accepted,
            letter="" if severity is Severity.NOTE else letters[name],
            places=tuple((finding.case, finding.message) for finding in alike),
        )
        for (name, severity, accepted, remedy), alike in sorted(
            groups.items(), key=lambda item: (-grave.index(item[0][1]), item[0][2])
        )
    )
