"""What stands below the tables: the tally, the reasons, failures, findings, and how the run was made."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from stepmark.records.finding import Severity
from stepmark.report.groups import FailureGroup, FindingGroup
from stepmark.report.ledger import STYLES
from stepmark.report.marks import mark
from stepmark.report.page import Page, line
from stepmark.report.view import View
from stepmark.report.wording import (
    EXPLAIN,
    SHOWN_PLACES,
    case_labels,
    failure_group_line,
    finding_line,
    footer_facts,
    numbered_reasons,
    outcomes,
    places,
    sight,
    undecided_lines,
    unfinished,
)

INDENT = "   "
"""As wide as a mark and a space."""
SEVERITY_STYLES = {Severity.NOTE: "dim", Severity.WARNING: "yellow", Severity.ERROR: "bold red"}


def closing(view: View, *, page: Page, failures: bool, full: bool) -> list[Text]:
    """All below the tables; `failures` where those left the messages out, `full` to name every case."""
    blocks = [
        [*_tally(view, page), *_reasons(view, page)],
        _undecided(view, page, full=full),
        [text for group in view.failures if failures for text in _failure(group, page)],
        _findings(view, page, full=full),
        [text for facts in footer_facts(view.footer) for text in page.facts(facts, style="dim")],
    ]
    return [text for block in blocks if block for text in (*block, Text())][:-1]


def _tally(view: View, page: Page) -> list[Text]:
    """`2 FASTER · 1 INCONCLUSIVE    5 measured · 1 crashed`."""
    parts: list[tuple[str, str]] = []
    for kind, number in view.verdicts:
        parts += [("  ", "") if parts else ("", ""), (f"{number} {kind}", STYLES[kind])]
    lines = [line(*parts)] if parts else []
    lines += page.paragraph(outcomes(view))
    seen = sight(view)
    lines += page.paragraph(seen) if seen else []
    warning = unfinished(view.footer)
    return [*lines, *page.paragraph(warning, style="bold yellow")] if warning else lines


def _reasons(view: View, page: Page) -> list[Text]:
    texts = numbered_reasons(view.reasons)
    return [line for text in texts for line in page.paragraph(text, style="yellow", hanging="  ")]


def _undecided(view: View, page: Page, *, full: bool) -> list[Text]:
    lines = undecided_lines(view, most=None if full else SHOWN_PLACES)
    return [text for line in lines for text in page.paragraph(line, style="yellow", hanging="  ")]


def _failure(group: FailureGroup, page: Page) -> list[Text]:
    return page.paragraph(failure_group_line(group), style="magenta", hanging="  ")


def _findings(view: View, page: Page, *, full: bool) -> list[Text]:
    labels = case_labels(view)
    lines = [text for group in view.findings for text in _finding(group, labels, page, full=full)]
    return [*lines, *page.paragraph(EXPLAIN, style="dim", hanging="  ")] if lines else []


def _finding(group: FindingGroup, labels: Mapping[str, str], page: Page, *, full: bool) -> list[Text]:
    """The legend of a mark: name and meaning, what was seen, what to do."""
    style = "dim" if group.accepted else SEVERITY_STYLES[group.severity]
    sign = mark(group.letter, group.severity, accepted=group.accepted)
    lines = page.paragraph(f"{sign} {finding_line(group)}", style=style, hanging=INDENT)
    for place in places(group, labels, full=full):
        lines += page.paragraph(place, indent=INDENT, hanging=f"{INDENT}  ")
    if group.accepted:
        return lines
    return [*lines, *page.paragraph(f"→ {group.remedy}", indent=INDENT, hanging=f"{INDENT}  ")]
