"""Failures in full: the whole message, the traceback and the last output of each."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from stepmark.records.outcome import Failure
from stepmark.records.run import Judgement
from stepmark.report import format as show
from stepmark.report.page import Page, line
from stepmark.report.sheet import Sheet
from stepmark.report.wording import printed


def failure_details(judgement: Judgement) -> Sheet:
    """Cases that failed with the same traceback are told together."""
    groups: dict[Failure, list[str]] = {}
    for case in judgement.cases:
        if case.failure:
            groups.setdefault(case.failure, []).append(case.case.id)
    return Sheet(lambda page: _lines(groups, page))


def _lines(groups: dict[Failure, list[str]], page: Page) -> list[Text]:
    if not groups:
        return page.paragraph("no case failed")
    blocks = [_group(failure, cases, page) for failure, cases in groups.items()]
    return [text for block in blocks for text in (*block, Text())][:-1]


def _group(failure: Failure, cases: Sequence[str], page: Page) -> list[Text]:
    lines = [text for case in cases for text in page.paragraph(case, style="bold", hanging="  ")]
    lines += page.paragraph(_where(failure), style="magenta", indent="  ")
    lines += page.paragraph(failure.message, indent="  ")
    for title, text in (("traceback", failure.traceback), ("last output", printed(failure))):
        if text.strip():
            lines.append(line((f"  {title}", "dim")))
            lines += [part for row in text.expandtabs().rstrip().split("\n") for part in _verbatim(row, page)]
    return lines


def _verbatim(row: str, page: Page) -> list[Text]:
    """A line of a traceback, with its own indentation."""
    text = row.lstrip()
    indent = " " * (4 + len(row) - len(text))
    return page.paragraph(text, indent=indent, hanging=f"{indent}  ")


def _where(failure: Failure) -> str:
    """`crashed in rounds, by an exception, launch 3, round 50`."""
    facts = [f"{failure.outcome} in {failure.stage}", f"cause: {failure.cause}"]
    facts += [f"launch {failure.launch}"] if failure.launch is not None else ["solo pass"]
    facts += [f"round {failure.round}"] if failure.round is not None else []
    return ", ".join(fact.replace(" ", show.NBSP) for fact in facts)
