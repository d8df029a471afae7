"""An audit on a terminal: case by case, what was found, with numbers, meaning and remedy."""

from __future__ import annotations

from rich.text import Text

from stepmark.records.finding import Finding
from stepmark.report.audit_view import AuditView, CaseAudit
from stepmark.report.audit_wording import numbers_of, severity_of, tally, uninspected
from stepmark.report.closing import SEVERITY_STYLES
from stepmark.report.page import Page
from stepmark.report.sheet import Sheet
from stepmark.report.wording import EXPLAIN


def audit_table(view: AuditView) -> Sheet:
    """As wide as the console it is printed on; cases without findings are only counted."""
    return Sheet(lambda page: _lines(view, page))


def _lines(view: AuditView, page: Page) -> list[Text]:
    blocks = [_case(case, page) for case in view.cases if case.findings]
    lines = [text for block in blocks for text in (*block, Text())]
    lines += page.paragraph(f"run {view.run} · {tally(view)}")
    lines += page.paragraph(uninspected(view), style="yellow") if uninspected(view) else []
    return [*lines, *page.paragraph(EXPLAIN, style="dim", hanging="  ")] if blocks else lines


def _case(case: CaseAudit, page: Page) -> list[Text]:
    lines = page.paragraph(case.case, style="bold", hanging="  ")
    return [*lines, *(text for finding in case.findings for text in _finding(finding, page))]


def _finding(finding: Finding, page: Page) -> list[Text]:
    style = "dim" if finding.accepted else SEVERITY_STYLES[finding.severity]
    meaning = f": {finding.meaning}" if finding.meaning else ""
    lines = page.paragraph(
        f"{severity_of(finding)} {finding.name}{meaning}", style=style, indent="  ", hanging="    "
    )
    lines += page.paragraph(finding.message, indent="    ", hanging="      ")
    if finding.numbers:
        lines += page.paragraph(numbers_of(finding), style="dim", indent="    ", hanging="      ")
    return [*lines, *page.paragraph(f"→ {finding.remedy}", indent="    ", hanging="      ")]
