"""Phrases of an audit that more than one format uses."""

from __future__ import annotations

from stepmark.records.finding import Finding, Severity
from stepmark.report import format as show
from stepmark.report.audit_view import AuditView


def tally(view: AuditView) -> str:
    """`6 cases: 2 errors, 3 warnings, 1 note, 1 accepted`."""
    counts = [(view.count(severity), severity.value) for severity in reversed(Severity)]
    told = [show.plural(number, name) for number, name in counts if number]
    told += [f"{view.num_accepted}{show.NBSP}accepted"] if view.num_accepted else []
    return f"{show.plural(len(view.cases), 'case')}: {', '.join(told) or 'nothing found'}"


def uninspected(view: AuditView) -> str:
    """Empty where every case was inspected."""
    number = view.num_uninspected
    if not number:
        return ""
    all_of_them = number == len(view.cases)
    which = "no case had an" if all_of_them else f"{show.plural(number, 'case')} had no"
    return f"{which} instrumented step: only rules about times and settings could speak"


def severity_of(finding: Finding) -> str:
    """`error`, `accepted error`."""
    return f"accepted {finding.severity}" if finding.accepted else finding.severity.value


def numbers_of(finding: Finding) -> str:
    """`error 0.25 · tolerance 0.0001`."""
    return " · ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in finding.numbers)


def _number(value: float) -> str:
    """Whole numbers whole, as far as they are exact."""
    return f"{value:.0f}" if value.is_integer() and abs(value) < 2**53 else f"{value:.4g}"
