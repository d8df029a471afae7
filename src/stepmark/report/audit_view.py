"""The view of an audit: the findings of a run by case, the gravest first, and what was not looked at."""

from __future__ import annotations

from stepmark.records.finding import Finding, Severity
from stepmark.records.record import Record
from stepmark.records.run import Judgement, Recording


class CaseAudit(Record, frozen=True, kw_only=True):
    """One case."""

    case: str
    """Case id."""
    inspected: bool
    """It had an instrumented step; without one only the rules about times and settings can speak."""
    findings: tuple[Finding, ...]
    """The gravest first, what was accepted last."""


class AuditView(Record, frozen=True, kw_only=True):
    """A whole run."""

    run: str
    cases: tuple[CaseAudit, ...]
    """Those with the gravest findings first; cases without any come last."""

    def count(self, severity: Severity) -> int:
        """Findings of a severity that nobody accepted."""
        return sum(found.severity is severity and not found.accepted for found in self.findings)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for case in self.cases for finding in case.findings)

    @property
    def num_errors(self) -> int:
        return self.count(Severity.ERROR)

    @property
    def num_accepted(self) -> int:
        return sum(finding.accepted for finding in self.findings)

    @property
    def num_uninspected(self) -> int:
        return sum(not case.inspected for case in self.cases)


def build_audit(judgement: Judgement, recording: Recording) -> AuditView:
    """Arrange the findings of a judged run."""
    inspected = {
        solo.case.id for solo in recording.solos if solo.evidence and solo.evidence.inspection is not None
    }
    by_case: dict[str, list[Finding]] = {case.id: [] for case in judgement.run.cases}
    for finding in judgement.findings:
        by_case[finding.case].append(finding)
    cases = [
        CaseAudit(case=id, inspected=id in inspected, findings=tuple(sorted(found, key=_gravity)))
        for id, found in by_case.items()
    ]
    return AuditView(run=judgement.run.id, cases=tuple(sorted(cases, key=_gravest)))


def _gravity(finding: Finding) -> tuple[bool, int]:
    return finding.accepted, -list(Severity).index(finding.severity)


def _gravest(case: CaseAudit) -> tuple[bool, int]:
    return _gravity(case.findings[0]) if case.findings else (True, 1)
