"""What --fail-on names: verdicts, findings, and findings by severity."""

from __future__ import annotations

from dataclasses import dataclass

from stepmark.cli.options import names_in
from stepmark.errors import UsageError
from stepmark.records.finding import FindingName, Severity
from stepmark.records.run import Judgement
from stepmark.records.verdict import VerdictKind

SEVERITIES = {
    "errors": frozenset({Severity.ERROR}),
    "warnings": frozenset({Severity.ERROR, Severity.WARNING}),
}
"""Warnings are the least that counts, so errors count too."""


@dataclass(frozen=True)
class FailOn:
    """Conditions under which a command fails."""

    verdicts: frozenset[VerdictKind] = frozenset()
    findings: frozenset[FindingName] = frozenset()
    severities: frozenset[Severity] = frozenset()

    def holds(self, judgement: Judgement) -> bool:
        """Whether there is such a verdict, or such a finding that nobody accepted."""
        kinds = {case.verdict.kind for case in judgement.cases if case.verdict is not None}
        return bool(kinds & self.verdicts) or any(
            finding.name in self.findings or finding.severity in self.severities
            for finding in judgement.findings
            if not finding.accepted
        )


def fail_on_named(text: str | None) -> FailOn:
    """From names joined by commas."""
    names = [name.lower() for name in names_in(text)]
    kinds, findings = {kind.lower(): kind for kind in VerdictKind}, {str(name): name for name in FindingName}
    unknown = [name for name in names if name not in {*kinds, *findings, *SEVERITIES}]
    if unknown:
        raise UsageError(
            f"--fail-on knows no verdict or finding '{unknown[0]}'",
            remedy=f"use {', '.join(kinds)}, {', '.join(SEVERITIES)} or a name from `stepmark explain`",
        )
    return FailOn(
        verdicts=frozenset(kinds[name] for name in names if name in kinds),
        findings=frozenset(findings[name] for name in names if name in findings),
        severities=frozenset().union(*(SEVERITIES[name] for name in names if name in SEVERITIES)),
    )
