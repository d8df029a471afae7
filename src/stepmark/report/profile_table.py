"""A profile on a terminal: phases, gaps, operations, memory over time, and what profiling cost."""

from __future__ import annotations

from rich.text import Text

from stepmark.report.format import NBSP
from stepmark.report.page import Page, line
from stepmark.report.profile_chart import memory_chart
from stepmark.report.profile_view import ProfileView
from stepmark.report.sheet import Sheet
from stepmark.report.text_table import on_page

CHART_WIDTH = 80


def profile_sheet(view: ProfileView) -> Sheet:
    """A rich renderable, as wide as the console."""
    return Sheet(lambda page: _lay_out(view, page))


def _lay_out(view: ProfileView, page: Page) -> list[Text]:
    lines = [*page.heading(view.title, " · ".join(view.context)), *on_page(view.phases, page), line()]
    lines += [*on_page(view.idle, page), line()]
    for operations in view.operations:
        lines += page.paragraph(operations.title, style="dim")
        lines += [*on_page(operations.table, page, folded=0), line()]
    lines += [*page.paragraph(view.products, style="dim"), line(), *_memory(view, page), line()]
    if view.cost is not None:
        lines += [*page.paragraph(view.cost_title, style="dim"), *on_page(view.cost, page), line()]
    if view.nsight:
        said, *commands = view.nsight
        lines += [*page.paragraph(said, style="dim"), *(line((command, "")) for command in commands), line()]
    for failure in view.failures:
        lines += page.paragraph(failure, style="red", hanging="  ")
    return [*lines, *page.facts(view.facts, style="dim")]


def _memory(view: ProfileView, page: Page) -> list[Text]:
    drawn = memory_chart(view.memory, width=min(page.width, CHART_WIDTH), ascii_only=page.ascii_only)
    return [
        *page.paragraph(view.memory_title, style="dim"),
        *(line((page.show(row) if page.ascii_only else row.replace(NBSP, " "), "")) for row in drawn),
        *page.paragraph(view.peak, hanging="  "),
    ]
