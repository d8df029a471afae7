"""The page of a finding on a terminal, and the list of all findings.

Of Markdown only what the pages use: titles, paragraphs, lists and fenced code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.text import Text

from stepmark.records.finding import FindingName
from stepmark.report.grid import Column, Piece, make_grid
from stepmark.report.ledger import HEADING
from stepmark.report.page import Page, line
from stepmark.report.sheet import Sheet

FENCE = "```"


def finding_list(meanings: Mapping[FindingName, str]) -> Sheet:
    """Names and meanings, in the order of the closed list."""
    return Sheet(lambda page: _list_lines(meanings, page))


def finding_page(markdown: str) -> Sheet:
    """A page, wrapped to the console."""
    return Sheet(lambda page: _page_lines(markdown, page))


def _page_lines(markdown: str, page: Page) -> list[Text]:
    """A line stays free between blocks, but for what follows a heading and the items of a list."""
    lines: list[Text] = []
    before = ""
    for block in _blocks(markdown):
        joined = before.startswith("## ") or (before.startswith("- ") and block[0].startswith("- "))
        lines += [*([Text()] if before and not joined else []), *_block_lines(block, page)]
        before = block[0]
    return lines


def _list_lines(meanings: Mapping[FindingName, str], page: Page) -> list[Text]:
    rows = [[Piece("finding", HEADING), Piece("what it says", HEADING)]]
    rows += [[Piece(name), Piece(meaning)] for name, meaning in meanings.items()]
    table = make_grid([Column(), Column(fold=True)], rows, page=page).lines(page)
    return [*table, Text(), *page.paragraph("stepmark explain NAME tells the rest", style="dim")]


def _blocks(markdown: str) -> Iterator[list[str]]:
    """Lines that belong together: a title, a paragraph, an item of a list, or fenced code with its fences."""
    block: list[str] = []
    fenced = False
    for row in markdown.splitlines():
        starts = not fenced and (not row.strip() or row.startswith(("#", "- ", FENCE)))
        if starts and block:
            yield block
            block = []
        if row.strip() or fenced:
            block.append(row)
        if row.startswith(FENCE):
            fenced = not fenced
            if not fenced:
                yield block
                block = []
        elif row.startswith("#"):
            yield block
            block = []
    if block:
        yield block


def _block_lines(block: list[str], page: Page) -> list[Text]:
    first = block[0]
    if first.startswith(FENCE):
        return [line((page.show(f"    {row}"), "cyan")) for row in block[1:-1]]
    if first.startswith("#"):
        return page.paragraph(first.lstrip("# "), style="bold")
    words = " ".join(" ".join(block).split())
    if first.startswith("- "):
        return page.paragraph(words, indent="  ", hanging="    ")
    return page.paragraph(words)
