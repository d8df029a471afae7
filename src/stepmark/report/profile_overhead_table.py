"""The table of what profiling costs, case by case: a phase without the profiler, with it, and their ratio.

size      forward  profiled       ratio  backward  profiled       ratio
small    18.52 ms  21.90 ms  1.18x ±2 %  40.12 ms  41.00 ms  1.02x ±1 %
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from stepmark.records.case import Case
from stepmark.records.profile import CaseCost, PhaseCost
from stepmark.report import format as show
from stepmark.report.markdown_text import plain
from stepmark.report.page import Page, line
from stepmark.report.sheet import Sheet
from stepmark.report.text_table import TextTable, in_markdown, on_page

PHASES = ("forward", "backward")
TITLE = "what profiling costs: the same iterations without and with the profiler, in turn"


def overhead_sheet(costs: Sequence[CaseCost], *, phases: Sequence[str] = PHASES) -> Sheet:
    """A rich renderable, as wide as the console; cases that failed are named below."""
    return Sheet(lambda page: _lay_out(costs, phases, page))


def render_overhead_markdown(costs: Sequence[CaseCost], *, phases: Sequence[str] = PHASES) -> str:
    """The same as Markdown."""
    failures = "\n".join(f"- {plain(failure)}" for failure in failed_cases(costs))
    parts = [TITLE, in_markdown(overhead_table(costs, phases=phases)), failures]
    return "\n\n".join(part for part in parts if part) + "\n"


def overhead_table(costs: Sequence[CaseCost], *, phases: Sequence[str] = PHASES) -> TextTable:
    """Those of the phases that some case has; a case is called by what tells it from the others."""
    measured = [cost for cost in costs if cost.phases]
    known = {each.phase for cost in measured for each in cost.phases}
    shown = [phase for phase in phases if phase in known]
    heading, *labels = case_labels([cost.case for cost in measured])
    rows = [
        (label, *(cell for phase in shown for cell in _cells(cost, phase)))
        for label, cost in zip(labels, measured, strict=True)
    ]
    head = (heading, *(title for phase in shown for title in (phase, "profiled", "ratio")))
    return TextTable((head, *rows), "l" + "rrr" * len(shown))


def failed_cases(costs: Sequence[CaseCost]) -> list[str]:
    """A line for each case of which a launch failed."""
    return [
        f"{cost.case.id}: {cost.failure.outcome} in {cost.failure.stage}: {cost.failure.message}"
        for cost in costs
        if cost.failure is not None
    ]


def case_labels(cases: Sequence[Case]) -> list[str]:
    """A heading, then a label for each case: the axis values, variant and so on that differ among them."""
    facts = [
        {"variant": case.variant, **{name: str(value) for name, value in case.cell.axes}}
        | {"dtype": case.cell.dtype, "mode": case.cell.mode.value, "suite": case.cell.suite}
        | {"execution": case.cell.execution.value, "cache": case.cell.cache.value}
        for case in cases
    ]
    names = dict.fromkeys(name for fact in facts for name in fact)
    differing = [name for name in names if len({fact.get(name) for fact in facts}) > 1] or ["variant"]
    return [", ".join(differing), *(", ".join(fact.get(name, "") for name in differing) for fact in facts)]


def _cells(cost: CaseCost, phase: str) -> tuple[str, str, str]:
    found: PhaseCost | None = next((each for each in cost.phases if each.phase == phase), None)
    if found is None:
        return "", "", ""
    ratio = f"{show.ratio(found.ratio)} {show.plus_minus(found.ratio)}"
    return show.seconds(found.unprofiled), show.seconds(found.profiled), ratio


def _lay_out(costs: Sequence[CaseCost], phases: Sequence[str], page: Page) -> list[Text]:
    lines = page.paragraph(TITLE, style="dim")
    if any(cost.phases for cost in costs):
        lines += on_page(overhead_table(costs, phases=phases), page, folded=0)
    for failure in failed_cases(costs):
        lines += [line(), *page.paragraph(failure, style="red", hanging="  ")]
    return lines
