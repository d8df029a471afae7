"""The report on a terminal: tables by cell for few cells, one table a suite for sweeps, then the closing."""

from __future__ import annotations

from rich.text import Text

from stepmark.records.run import Judgement
from stepmark.report.cell_table import cell_table
from stepmark.report.closing import closing
from stepmark.report.page import Page
from stepmark.report.sheet import Sheet
from stepmark.report.sweep_table import sweep_table
from stepmark.report.view import View, build_view


def render_terminal(judgement: Judgement, *, phases: bool = False) -> Sheet:
    """As wide as the console it is printed on; `phases` lists every phase of every cell with its verdict."""
    view = build_view(judgement)
    return Sheet(lambda page: _lines(view, page, phases=phases))


def render(judgement: Judgement, *, width: int = 80, phases: bool = False) -> str:
    """The report as plain text, without colours."""
    return render_terminal(judgement, phases=phases).text(width=width)


def _lines(view: View, page: Page, *, phases: bool) -> list[Text]:
    lines: list[Text] = []
    for suite in view.suites:
        if suite.is_sweep and not phases:
            lines += [*sweep_table(suite, reasons=view.reasons, page=page), Text()]
        else:
            for cell in suite.cells:
                table = cell_table(cell, reasons=view.reasons, page=page, listed=phases)
                lines += [*table, Text()]
    left_out = not phases and any(suite.is_sweep for suite in view.suites)
    return [*lines, *closing(view, page=page, failures=left_out, full=phases)]
