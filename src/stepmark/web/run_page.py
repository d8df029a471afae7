"""The page of one run: its report, and while the run is in progress how far it is."""

from __future__ import annotations

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from stepmark.pages import make_page
from stepmark.records.run import RunStatus
from stepmark.report.html.document import render_fragment, render_nav
from stepmark.web.archive import Archive, JudgedRun
from stepmark.web.run_list_page import names_of_runs
from stepmark.web.templating import UTC_ZONE, render_page

FORMATS = (
    ("json", "everything (JSON)"),
    ("jsonl", "everything (JSON lines)"),
    ("csv", "one row per case and phase (CSV)"),
    ("markdown", "tables (Markdown)"),
    ("bundle", "the run, for another store (bundle)"),
)

NUM_CASES = 40
"""Whose histories are a click away; the others are found by a search."""


def run_page(request: Request) -> Response:
    """Under the full id; any other reference leads there."""
    archive: Archive = request.app.state.archive
    reference = request.path_params["run"]
    run_id = archive.find(reference)
    if run_id != reference:
        return RedirectResponse(f"/runs/{run_id}")
    head = archive.head(run_id)
    cases = [case.id for case in archive.store.run(run_id).cases]
    running = head.status is RunStatus.RUNNING
    return render_page(
        request,
        "run.html",
        head=head,
        names=names_of_runs(archive).get(run_id, []),
        formats=FORMATS,
        cases=cases[:NUM_CASES],
        more_cases=max(len(cases) - NUM_CASES, 0),
        running=running,
        progress=archive.progress(run_id) if running else None,
        report=Markup(report_of(archive, run_id).decode()),
    )


def run_report(request: Request) -> Response:
    """The report alone: what a page of a run in progress puts in the place of the one it has."""
    archive: Archive = request.app.state.archive
    return HTMLResponse(report_of(archive, archive.find(request.path_params["run"])))


def report_of(archive: Archive, run_id: str) -> bytes:
    """As HTML; everything in it that users wrote is escaped by its templates."""
    return archive.answer("report", run_id, render_report)


def render_report(found: JudgedRun) -> bytes:
    """The report of a run with links to its parts."""
    page = make_page(found.judgement, found.recording)
    parts = f'<nav class="parts" aria-label="Parts of this report"><ul>{render_nav(page)}</ul></nav>'
    return (parts + render_fragment(page, zone=UTC_ZONE)).encode()
