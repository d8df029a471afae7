"""Published results on a terminal: the list of them, and one with its tables, corrections and defects."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from stepmark.interchange.criterion import CriterionLog
from stepmark.interchange.formats import Document
from stepmark.interchange.fragmented_text import FragmentedText
from stepmark.interchange.grid import GridDocument
from stepmark.interchange.switchback_jsonl import SwitchbackLines
from stepmark.published.catalogue import Publication
from stepmark.published.defect import Defect
from stepmark.published.references import Reference
from stepmark.records.finding import Severity
from stepmark.report import published_fragmented, published_lora, published_switchback, published_transformer
from stepmark.report.page import Page, line
from stepmark.report.sheet import Sheet
from stepmark.report.shown_table import ShownTable, table_lines

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_INDENT = "  "


def publications_sheet(publications: Sequence[Publication], num_defects: Sequence[int]) -> Sheet:
    """Names, what they are about, and how many defects are known of each."""
    rows = tuple(
        (each.name, each.date, each.format, str(number), each.about)
        for each, number in zip(publications, num_defects, strict=True)
    )
    table = ShownTable(
        title="Published results",
        head=("name", "date", "format", "defects", "what was measured"),
        rows=rows,
        sides="lllrf",
        note="stepmark published NAME shows one; with --format, the file as it was published",
    )
    return Sheet(lambda page: table_lines(table, page)[:-1])


def references_sheet(references: Sequence[Reference]) -> Sheet:
    """Runs that come with stepmark."""
    table = ShownTable(
        title="References",
        head=("name", "date", "device", "suites"),
        rows=tuple((each.name, each.date, each.hardware, ", ".join(each.suites)) for each in references),
        sides="lllf",
        note="stepmark run SUITE --against NAME compares a run with one; stepmark compare NAME too; "
        "stepmark show NAME::SUITE shows what was measured, stepmark report draws it",
    )
    return Sheet(lambda page: table_lines(table, page)[:-1])


def publication_sheet(publication: Publication, document: Document, defects: Sequence[Defect]) -> Sheet:
    """Everything about one."""
    return Sheet(lambda page: _lines(publication, document, defects, page))


def _lines(publication: Publication, document: Document, defects: Sequence[Defect], page: Page) -> list[Text]:
    lines = [line((publication.name, "bold")), *page.paragraph(publication.about), page.rule()]
    facts = {
        "source": f"{publication.repository}, {publication.path}, commit {publication.commit}",
        "date": publication.date,
        "hardware": publication.hardware,
        "software": publication.software,
        "licence": publication.licence,
    }
    for name, fact in facts.items():
        lines += page.paragraph(f"{name + ':':<10}{fact}", style="dim", hanging=" " * 10)
    lines.append(line())
    for table in _tables(document):
        lines += table_lines(table, page)
    lines.append(line(("What is wrong with it", "bold")))
    for defect in defects:
        lines += _defect_lines(defect, page)
    return lines


def _tables(document: Document) -> tuple[ShownTable, ...]:
    match document:
        case FragmentedText():
            return published_fragmented.tables(document)
        case SwitchbackLines():
            return published_switchback.tables(document)
        case GridDocument():
            return published_transformer.tables(document)
        case CriterionLog():
            return published_lora.tables(document)


def _defect_lines(defect: Defect, page: Page) -> list[Text]:
    return [
        line(
            (f"{defect.severity:<8}", STYLES[defect.severity]),
            (defect.name, "bold"),
            (f"  ({defect.basis})", "dim"),
        ),
        *page.paragraph(defect.message, indent=_INDENT),
        *page.paragraph(f"→ {defect.remedy}", indent=_INDENT),
    ]
