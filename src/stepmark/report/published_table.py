"""Ours beside theirs on a terminal: a row a case and phase, then why the times differ."""

from __future__ import annotations

from rich.text import Text

from stepmark.published.beside import Beside, BesideRow
from stepmark.report import format as show
from stepmark.report.page import Page
from stepmark.report.sheet import Sheet
from stepmark.report.shown_table import ShownTable, table_lines


def published_table(beside: Beside) -> Sheet:
    """As wide as the console it is printed on."""
    return Sheet(lambda page: _lines(beside, page))


def render(beside: Beside, *, width: int = 80) -> str:
    """As plain text, without colours."""
    return published_table(beside).text(width=width)


def _lines(beside: Beside, page: Page) -> list[Text]:
    if not beside.rows:
        return page.paragraph(
            "nothing in this run repeats a published row: --preset published measures their shapes"
        )
    table = ShownTable(
        title="Beside what was published",
        head=("case", "phase", "ours", "theirs", "ours/theirs"),
        rows=tuple(map(_row, beside.rows)),
        sides="flrrr",
    )
    lines = table_lines(table, page)
    lines += page.paragraph("These are two machines and two harnesses, no comparison of code:", style="dim")
    for reason in beside.reasons:
        lines += page.paragraph(reason, style="dim", indent="  ", hanging="    ")
    return lines


def _row(row: BesideRow) -> tuple[str, ...]:
    cell = row.case.cell
    name = f"{cell.suite}/{row.case.variant}" + (f"[{cell.point}]" if cell.axes else "")
    return (name, row.phase, show.seconds(row.ours), show.seconds(row.theirs), _ratio(row.ratio))


def _ratio(value: float) -> str:
    """Three digits: machines may be thousands of times apart."""
    return f"{value:.0f}x" if value >= 100.0 else f"{value:.3g}x"
