"""Acceptance: findings that the user, or the author of a variant, said are expected."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from stepmark.records.finding import Finding
from stepmark.records.run import Run


def accept(findings: Iterable[Finding], *, run: Run, names: Collection[str]) -> tuple[Finding, ...]:
    """Mark the findings of these names in all cases, and those that a variant accepts in its own."""
    accepts = {
        (outline.name, variant.name): variant.accepts
        for outline in run.suites
        for variant in outline.variants
    }
    expected = {case.id: {*names, *accepts.get((case.cell.suite, case.variant), ())} for case in run.cases}
    return tuple(
        replace(finding, accepted=finding.name in expected.get(finding.case, names)) for finding in findings
    )
