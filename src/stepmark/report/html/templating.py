"""Templates: Jinja with escaping everywhere, and the filters that turn numbers into text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from stepmark.records.finding import Severity
from stepmark.records.memory import MemoryUse
from stepmark.report import format as show
from stepmark.report.conclusion_wording import sentence
from stepmark.report.figures.figure import Figure
from stepmark.report.groups import FindingGroup
from stepmark.report.html import facts
from stepmark.report.html.page_view import CaseEvidence, PageView
from stepmark.report.html.table_columns import columns, figures_of, memory_phases, parts, point
from stepmark.report.marks import mark
from stepmark.report.wording import (
    end,
    failure_line,
    measuring,
    outcomes,
    printed,
    sight,
    undecided_lines,
    unfinished,
)


@cache
def environment(zone: tzinfo | None = None) -> Environment:
    """One for all pages; moments are shown in the zone given, else in the local one."""
    made = Environment(
        loader=PackageLoader("stepmark.report.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(_numbers(zone), **_words(), **_parts())
    return made


Filter = Callable[..., Any]


def _numbers(zone: tzinfo | None) -> dict[str, Filter]:
    return {
        "seconds": show.seconds,
        "plus_minus": show.plus_minus,
        "ratio": show.ratio,
        "interval": show.interval,
        "percent": show.percent,
        "effect": show.effect,
        "limit": show.limit,
        "size": show.size,
        "bytes": lambda number: show.size(round(number)),
        "duration": show.duration,
        "plural": show.plural,
        "moment": lambda epoch: show.moment(epoch, zone=zone),
        "iso": lambda epoch: datetime.fromtimestamp(epoch, tz=UTC).isoformat(timespec="seconds"),
        "times": show.times,
        "share": lambda fraction: f"{100.0 * fraction:.1f}{show.NBSP}%",
        "key": lambda value: f"{value:.6g}",
        "number": _number,
        "rate": _rate,
    }


def _words() -> dict[str, Filter]:
    return {
        "sentence": sentence,
        "unfinished": unfinished,
        "measuring": measuring,
        "outcomes": outcomes,
        "sight": sight,
        "end": end,
        "failure_line": failure_line,
        "printed": printed,
        "undecided_lines": lambda view: undecided_lines(view, most=None),
        "page_title": facts.page_title,
        "machine": facts.machine,
        "command": facts.command,
        "carried": facts.carried,
        "making": facts.making,
        "case_facts": facts.case_facts,
        "sentence_case": lambda text: text[:1].upper() + text[1:],
        "sample_alt": _sample_alt,
        "ticked": _ticked,
    }


def _parts() -> dict[str, Filter]:
    return {
        "columns": columns,
        "parts": parts,
        "point": point,
        "figures_of": figures_of,
        "memory_phases": memory_phases,
        "peak_of": _peak_of,
        "mark": lambda group: mark(group.letter, group.severity, accepted=group.accepted),
        "grave": lambda groups: [group for group in groups if group.severity is not Severity.NOTE],
        "notes": _notes,
    }


def _ticked(text: str) -> Markup:
    """What messages put between backticks as code; everything is escaped first."""
    return Markup(re.sub(r"`([^`\n]{1,200})`", r"<code>\1</code>", str(escape(text))))


def _notes(groups: Iterable[FindingGroup]) -> list[FindingGroup]:
    return [group for group in groups if group.severity is Severity.NOTE]


def _number(value: float) -> str:
    """A count as it is, anything else with three digits."""
    return f"{value:.0f}" if value.is_integer() or abs(value) >= 1000.0 else f"{value:.3g}"


def _rate(value: float, unit: str) -> str:
    """`12.3 GFLOP/s`."""
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g}{show.NBSP}{prefix}{unit}"
    return f"{value:.3g}{show.NBSP}{unit}"


def _peak_of(memory: MemoryUse, phase: str) -> int | None:
    return next((each.peak for each in memory.phases if each.phase == phase), None)


def _sample_alt(case: CaseEvidence, figure: Figure) -> str:
    """The figure is of whichever case: its own words are about another one."""
    judged = case.judged
    summary = judged.summary(judged.primary) if judged.primary else None
    if summary is None:
        return f"{figure.title}, {case.label}."
    count = summary.outliers.total
    return (
        f"{figure.title}, {case.label}: {show.plural(summary.num_blocks, 'block')} in "
        f"{show.plural(len(case.launches), 'launch')}, median {show.seconds(summary.median)} "
        f"{show.plus_minus(summary.median)}, {show.plural(count, 'outlier')}."
    )


def with_page(page: PageView) -> dict[str, Any]:
    """What every template of a page knows."""
    return {"page": page, "reading": {"marks": _marks_reading(page)}}


def _marks_reading(page: PageView) -> str:
    if not any(row.marks for row in page.rows):
        return ""
    return "Letters at the right lead to the findings above: ✗ is an error, ! a warning, (…) accepted."
