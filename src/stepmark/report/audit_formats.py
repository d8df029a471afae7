"""An audit as Markdown, for a pull request, and as JSON, for a program."""

from __future__ import annotations

from typing import Any

import msgspec

from stepmark.records.finding import Finding, Severity
from stepmark.records.run import FORMAT
from stepmark.report.audit_view import AuditView, CaseAudit
from stepmark.report.audit_wording import numbers_of, severity_of, tally, uninspected
from stepmark.report.markdown_text import broken, code, plain
from stepmark.report.unpacked import plain as plain_record


def render_audit(format_: str, view: AuditView) -> str:
    """The audit in the format of this name, ending in a newline."""
    return _json(view) if format_ == "json" else _markdown(view)


def _json(view: AuditView) -> str:
    document: dict[str, Any] = {
        "format": FORMAT,
        "run": view.run,
        "errors": view.count(Severity.ERROR),
        "warnings": view.count(Severity.WARNING),
        "notes": view.count(Severity.NOTE),
        "accepted": view.num_accepted,
        "cases": [plain_record(case) for case in view.cases],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _markdown(view: AuditView) -> str:
    blocks = [_case(case) for case in view.cases if case.findings]
    summary = broken(filter(None, (f"run {code(view.run)}, {plain(tally(view))}", plain(uninspected(view)))))
    return "\n\n".join((*blocks, summary)) + "\n"


def _case(case: CaseAudit) -> str:
    return "\n".join((f"### {code(case.case)}", "", *map(_finding, case.findings)))


def _finding(finding: Finding) -> str:
    meaning = f": {plain(finding.meaning)}" if finding.meaning else ""
    lines = [f"- **{severity_of(finding)}** {code(finding.name)}{meaning}", f"  - {plain(finding.message)}"]
    lines += [f"  - {plain(numbers_of(finding))}"] if finding.numbers else []
    return "\n".join((*lines, f"  - remedy: {plain(finding.remedy)}"))
