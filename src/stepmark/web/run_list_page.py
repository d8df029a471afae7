"""The page of runs: searched, filtered, page by page, two of them to be chosen for a comparison."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from stepmark.records.run import RunStatus
from stepmark.web.api import runs
from stepmark.web.archive import Archive
from stepmark.web.queries import RunsQuery, read_query
from stepmark.web.templating import address, render_page


def run_list_page(request: Request) -> Response:
    archive: Archive = request.app.state.archive
    query = read_query(RunsQuery, request.query_params.multi_items())
    found = runs(archive, {}, query)
    asked = {name: value for name, value in msgspec.to_builtins(query).items() if value is not None}
    asked.pop("offset"), asked.pop("limit")
    end = query.offset + len(found.heads)
    newer = max(query.offset - query.limit, 0)
    return render_page(
        request,
        "runs.html",
        query={
            name: asked.get(name)
            for name in ("text", "suite", "machine", "branch", "since", "until", "status")
        },
        filtered=bool(asked) or query.offset > 0,
        filters=_filters(archive, asked),
        found=found,
        names=names_of_runs(archive),
        first=query.offset + 1,
        last=end,
        newer=address("/", asked, offset=newer or None, limit=_limit(query)) if query.offset else None,
        older=address("/", asked, offset=end, limit=_limit(query)) if end < found.total else None,
    )


def names_of_runs(archive: Archive) -> dict[str, list[str]]:
    """Baselines' names by run id."""
    names: dict[str, list[str]] = {}
    for baseline in archive.store.baselines():
        names.setdefault(baseline.run, []).append(baseline.name)
    return names


def _filters(archive: Archive, asked: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    """What can be chosen; what the address asks for is a choice even where nothing has it."""
    store = archive.store
    choices = {
        "suite": ("Suite", [name for name, _ in store.suites()]),
        "machine": ("Machine", [machine.name for machine in store.machines()]),
        "branch": ("Branch", [name for name, _ in store.branches()]),
        "status": ("Status", [status.value for status in RunStatus]),
    }
    for name, (_, values) in choices.items():
        if asked.get(name) and asked[name] not in values:
            values.append(asked[name])
    return [(name, title, values) for name, (title, values) in choices.items()]


def _limit(query: RunsQuery) -> int | None:
    return None if query.limit == RunsQuery().limit else query.limit
