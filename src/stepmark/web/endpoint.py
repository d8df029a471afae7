"""An endpoint of the API: one row of the table from which routes and their documentation are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from stepmark.records.record import Record
from stepmark.web.archive import Archive
from stepmark.web.queries import NoQuery, read_query

JSON = "application/json"


class Download(NamedTuple):
    """An answer that is a file."""

    data: bytes
    media_type: str
    name: str


class Endpoint(NamedTuple):
    """What can be asked under one path."""

    path: str
    name: str
    """Of the operation: unique, and fit to name a function."""
    about: str
    call: Callable[[Archive, Mapping[str, str], Any], Any]
    """From the archive, the path's parts and the query to the answer, a Download, or bytes of JSON."""
    answer: Any
    """Type of the answer; None for files."""
    query: type[Record] = NoQuery
    media_types: tuple[str, ...] = (JSON,)
    errors: tuple[HTTPStatus, ...] = ()
    """Those that it may end with beside a malformed query and a store that cannot be read."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the path's variable parts."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


def respond(endpoint: Endpoint, request: Request) -> Response:
    """Answer a request; runs in a thread of its own, because it reads the store."""
    archive: Archive = request.app.state.archive
    query = read_query(endpoint.query, request.query_params.multi_items())
    answer = endpoint.call(archive, request.path_params, query)
    if isinstance(answer, Download):
        disposition = f'attachment; filename="{answer.name}"'
        return Response(
            answer.data, media_type=answer.media_type, headers={"Content-Disposition": disposition}
        )
    return Response(answer if isinstance(answer, bytes) else encode(answer), media_type=JSON)


def encode(answer: Any) -> bytes:
    """JSON in which no text can end a script or open a tag, wherever it may be pasted."""
    text = msgspec.json.encode(answer)
    return text.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
