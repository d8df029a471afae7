"""The page that compares two runs, or says what must be chosen and what forbids it."""

from __future__ import annotations

from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from stepmark.records.comparison import MUST_AGREE, Aspect, Centre, Comparison, Standing
from stepmark.records.record import Record
from stepmark.report import comparison_wording as wording
from stepmark.web.archive import Archive
from stepmark.web.comparison import compare
from stepmark.web.queries import CompareQuery, Text, read_query
from stepmark.web.templating import UTC_ZONE, address, render_page

NUM_OFFERED = 30
"""Newest runs that are offered while one types."""


class ComparePageQuery(Record, frozen=True, kw_only=True):
    """What the form asks; nothing at all at first."""

    a: Text | None = None
    b: Text | None = None
    margin: Text = "1%"
    centre: Centre = Centre.MINIMUM
    allow: tuple[Text, ...] = ()
    phases: bool = False
    pick: tuple[Text, ...] = ()
    """Runs chosen in the list, two of them."""


class Offer(NamedTuple):
    """A run that can be chosen."""

    reference: str
    about: str


def comparison_page(request: Request) -> Response:
    archive: Archive = request.app.state.archive
    query = read_query(ComparePageQuery, request.query_params.multi_items())
    if len(query.pick) == 2:
        first, second = sorted(query.pick)  # ids are sorted by time
        return RedirectResponse(address("/compare", a=first, b=second))
    comparison = None
    if query.a and query.b:
        comparison = compare(
            archive,
            CompareQuery(a=query.a, b=query.b, margin=query.margin, centre=query.centre, allow=query.allow),
        )
    return render_page(
        request,
        "compare.html",
        query=query,
        offers=_offers(archive),
        centres=[*Centre],
        aspects=_aspects(query, comparison),
        comparison=comparison,
        wording=wording,
        zone=UTC_ZONE,
        standings=[Standing.REFUSED, Standing.ALLOWED, Standing.NAMED],
        reasons=wording.numbered(comparison, phases=query.phases) if comparison else (),
    )


def _offers(archive: Archive) -> list[Offer]:
    store = archive.store
    baselines = [Offer(each.name, f"baseline, run {each.run}") for each in store.baselines()]
    newest = [Offer(head.id, ", ".join(head.suites)) for head in store.heads(NUM_OFFERED)]
    return [*baselines, *newest]


def _aspects(query: ComparePageQuery, comparison: Comparison | None) -> list[Aspect]:
    """Differences worth a tick: those that are refused now, and those that were allowed before."""
    if comparison is None:
        return []
    every = [*comparison.differences, *(each for case in comparison.cases for each in case.differences)]
    seen = {each.aspect for each in every if each.standing is not Standing.NAMED}
    return [aspect for aspect in Aspect if aspect in MUST_AGREE and (aspect in seen or aspect in query.allow)]
