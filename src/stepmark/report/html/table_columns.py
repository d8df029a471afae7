"""Which columns and parts a page has: only what differs between cases, and only what is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stepmark.records.case import Cell
from stepmark.report.figures.figure import Figure
from stepmark.report.html.page_view import ComparedRow, PageView
from stepmark.report.view import merge_orders


class Columns(NamedTuple):
    """Of the table of cases."""

    suites: tuple[str, ...]
    axes: tuple[str, ...]
    """Axes, and device, dtype, mode and regime, that are not the same in all cells of a suite."""
    phases: tuple[str, ...]
    memory: bool
    limit: bool
    marks: bool


class Placed(NamedTuple):
    """A figure and its number among all figures of the page."""

    number: int
    figure: Figure


def columns(page: PageView) -> Columns:
    """What the table of cases shows."""
    suites = page.view.suites
    return Columns(
        suites=tuple(suite.name for suite in suites),
        axes=merge_orders([suite.varying for suite in suites]),
        phases=merge_orders([_phases_in(page, suite.name) for suite in suites]),
        memory=any(row.memory is not None for row in page.rows),
        limit=any(row.limit is not None for row in page.rows),
        marks=any(row.marks for row in page.rows),
    )


def _phases_in(page: PageView, suite: str) -> list[str]:
    return list(dict.fromkeys(row.phase for row in page.rows if row.phase and row.case.cell.suite == suite))


def point(row: ComparedRow, axes: Sequence[str]) -> list[str]:
    """The values of these axes; empty where a case has no such axis."""
    known = {name: str(value) for name, value in (*_regime(row.case.cell), *row.case.cell.axes)}
    return [known.get(name, "") for name in axes]


def _regime(cell: Cell) -> tuple[tuple[str, str], ...]:
    return (
        ("device", cell.device),
        ("dtype", cell.dtype),
        ("mode", cell.mode.value),
        ("execution", cell.execution.value),
        ("cache", cell.cache.value),
    )


def all_figures(page: PageView) -> list[Figure]:
    """In the order of the page."""
    return [figure for section in page.sections.values() for figure in section.figures]


def figures_of(page: PageView, anchor: str) -> list[Placed]:
    """The figures of one section, with their numbers."""
    section = page.sections.get(anchor)
    before = [figure.name for figure in all_figures(page)]
    return [Placed(before.index(figure.name), figure) for figure in section.figures] if section else []


def memory_phases(page: PageView) -> tuple[str, ...]:
    """Phases whose memory any case knows."""
    return merge_orders([[phase.phase for phase in row.memory.phases] for row in page.memory])


def parts(page: PageView) -> list[tuple[str, str]]:
    """Anchors and titles, for the navigation."""
    titles = {
        "conclusion": "Conclusion",
        "comparison": "Comparison",
        "sweep": "Sweep",
        "phases": "Phases",
        "limit": "Limit",
        "evidence": "Evidence",
        "published": "Published",
        "made": "How it was made",
    }
    absent = {anchor for anchor in ("sweep", "limit") if anchor not in page.sections}
    absent |= set() if page.sections.get("phases") or page.memory else {"phases"}
    absent |= set() if page.published else {"published"}
    return [(anchor, title) for anchor, title in titles.items() if anchor not in absent]
