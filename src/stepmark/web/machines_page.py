"""The page of machines: who measured how much, and how far unchanged code wanders on each."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from stepmark.keeping import NUM_LOOKED_AT, machines
from stepmark.web.archive import Archive
from stepmark.web.templating import render_page


def machines_page(request: Request) -> Response:
    archive: Archive = request.app.state.archive
    return render_page(
        request, "machines.html", machines=machines(archive.store), num_looked_at=NUM_LOOKED_AT
    )
