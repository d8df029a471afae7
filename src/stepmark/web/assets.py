"""Assets: scripts and styles, held in memory and served under names that change with their content."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from http import HTTPStatus
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from stepmark.report.html.assets import css, script, vega
from stepmark.web.problems import Refused

FOREVER = "public, max-age=31536000, immutable"
"""A name whose content cannot change."""
MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_DIGITS = 12


class Asset(NamedTuple):
    """One file."""

    name: str
    """With the hash of its content: `report.1f0c2a3b4c5d.css`."""
    data: bytes
    packed: bytes
    media_type: str


def make_asset(name: str, text: str) -> Asset:
    stem, _, ending = name.rpartition(".")
    data = text.encode()
    return Asset(
        name=f"{stem}.{sha256(data).hexdigest()[:_DIGITS]}.{ending}",
        data=data,
        packed=gzip.compress(data, mtime=0),
        media_type=MEDIA_TYPES[ending],
    )


class Assets:
    """All files, by the names that templates use."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._by_plain_name = {name: make_asset(name, text) for name, text in texts.items()}

    @cached_property
    def _by_name(self) -> dict[str, Asset]:
        return {asset.name: asset for asset in self._by_plain_name.values()}

    def path(self, name: str) -> str:
        """Where a file is served."""
        return f"/static/{self._by_plain_name[name].name}"

    def respond(self, request: Request) -> Response:
        asset = self._by_name.get(request.path_params["name"])
        if asset is None:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such file")
        headers = {"Cache-Control": FOREVER, "Vary": "Accept-Encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return Response(asset.packed, media_type=asset.media_type, headers=headers)
        return Response(asset.data, media_type=asset.media_type, headers=headers)


def own_texts() -> dict[str, str]:
    """The files of this package."""
    folder = files(__package__) / "static"
    return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.is_file()}


def all_assets() -> Assets:
    """The report's files and this package's; the chart library is put together once on a machine."""
    return Assets({"report.css": css(), "report.js": script(), "vega.js": vega(), **own_texts()})
