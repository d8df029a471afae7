"""The page of a case's history: its level over runs and commits, with the places where it changed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from stepmark.records.history import CaseHistory, HistoryPoint, Segment, Series
from stepmark.records.record import Record
from stepmark.report.html.document import render_figures
from stepmark.web.archive import Archive
from stepmark.web.queries import Text, read_query
from stepmark.web.templating import address, render_page

NUM_CASES = 100
"""Listed at a time."""
NUM_SHOWN = 50
"""Rows of a table: the newest; the others are in the figure and in the JSON."""


class HistoryPageQuery(Record, frozen=True, kw_only=True):
    """A case, or words to find one by."""

    case: str | None = None
    phase: Text | None = None
    machine: Text | None = None
    text: Text | None = None


def history_page(request: Request) -> Response:
    archive: Archive = request.app.state.archive
    query = read_query(HistoryPageQuery, request.query_params.multi_items())
    if query.case is None:
        cases = archive.store.case_ids(query.text or "", NUM_CASES + 1)
        if query.text in cases:
            return RedirectResponse(address("/history", case=query.text))
        return render_page(
            request, "cases.html", query=query, cases=cases[:NUM_CASES], more=len(cases) > NUM_CASES
        )
    found = archive.history(query.case, phase=query.phase, machine=query.machine)
    return _show(request, archive, query, found)


def _show(request: Request, archive: Archive, query: HistoryPageQuery, found: CaseHistory) -> Response:
    segments = sorted(found.segments, key=lambda segment: segment.end, reverse=True)
    return render_page(
        request,
        "history.html",
        query=query,
        history=found,
        figure=_figure(found) if found.points else "",
        phases=archive.store.case_phases(found.case),
        machines=sorted({*(point.machine for point in found.points), *filter(None, [query.machine])}),
        by_run={point.run: point for point in found.points},
        several=len(found.series) > 1,
        series_names={series.key: series_name(series) for series in found.series},
        segments=with_runs(segments[:NUM_SHOWN], found.points),
        more_segments=max(len(segments) - NUM_SHOWN, 0),
        points=found.points[: -NUM_SHOWN - 1 : -1],
        more_points=max(len(found.points) - NUM_SHOWN, 0),
    )


def _figure(found: CaseHistory) -> Markup:
    """The import takes a while, and is done when the first history is looked at."""
    from stepmark.report.figures.history import history

    return Markup(render_figures([history(found)]))


def with_runs(segments: Iterable[Segment], points: Iterable[HistoryPoint]) -> list[tuple[Segment, int]]:
    """Stretches with the number of their runs: the mean of a single run counts launches instead. Points are
    the oldest first."""
    moments: dict[str, list[float]] = {}
    for point in points:
        moments.setdefault(point.conditions, []).append(point.started)
    return [
        (each, bisect_right(moments[each.series], each.end) - bisect_left(moments[each.series], each.begin))
        for each in segments
    ]


def series_name(series: Series) -> str:
    """By what sets it apart from the others: `bench, torch 2.9.1`."""
    facts = dict(series.facts)
    apart = [
        f"{name} {facts[name]}" for name in series.differs if name in facts and facts[name] != series.machine
    ]
    return ", ".join([series.machine, *apart])
