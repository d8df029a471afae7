"""A warm-up study on a terminal: first iterations, what dropping some changes, the chart, and the causes."""

from __future__ import annotations

from rich.text import Text

from stepmark.report.page import Page, line
from stepmark.report.sheet import Sheet
from stepmark.report.text_table import on_page
from stepmark.report.warmup_chart import chart
from stepmark.report.warmup_view import WarmupView

CHART_WIDTH = 80


def warmup_sheet(view: WarmupView) -> Sheet:
    """A rich renderable, as wide as the console."""
    return Sheet(lambda page: _lay_out(view, page))


def _lay_out(view: WarmupView, page: Page) -> list[Text]:
    drawn = chart(view.curve, width=min(page.width, CHART_WIDTH), ascii_only=page.ascii_only)
    lines = [
        *page.heading(view.title, " · ".join(view.context)),
        *on_page(view.firsts, page),
        line(),
        *on_page(view.dropped, page),
        *page.paragraph(view.automatic, hanging="  "),
        line(),
        *page.paragraph(view.curve_title, style="dim"),
        *(line((page.show(row) if page.ascii_only else row.replace("\u00a0", " "), "")) for row in drawn),
        line(),
        *page.paragraph(view.slow_start, hanging="  "),
    ]
    if view.causes is not None:
        lines += on_page(view.causes, page, folded=2)
    for failure in view.failures:
        lines += page.paragraph(failure, style="red", hanging="  ")
    return [*lines, line(), *page.facts(view.facts, style="dim")]
