"""Uploads: a run bundle from CI is read, checked completely, and kept once, or refused as a whole."""

from __future__ import annotations

import time
from http import HTTPStatus

from starlette.requests import Request

from stepmark.errors import RunExists, StoreError, Unjudgeable
from stepmark.interchange.run_bundle import BundleTooLarge, from_bundle
from stepmark.keeping import take_in
from stepmark.records.record import Record
from stepmark.records.run import Recording
from stepmark.report import format as show_as
from stepmark.store.store import Store
from stepmark.web.bundle_check import flaws_of
from stepmark.web.problems import Refused
from stepmark.web.showing import show

MAX_PACKED = 16 * 2**20
"""Bytes of a bundle as it travels."""
_SHOWN_FLAWS = 5
REMEDY = "make it anew: stepmark export RUN --format bundle -o run.jsonl.gz"


class Uploaded(Record, frozen=True, kw_only=True):
    """What became of an upload."""

    run: str
    """Its id."""
    new: bool
    """False where the store has had the very same run before."""
    page: str
    """Path of the run's page."""


async def body_of(
    request: Request,
    *,
    limit: int = MAX_PACKED,
    what: str = "an upload",
    remedy: str = "upload a run of fewer cases or launches",
) -> bytes:
    """The body, refused as soon as it is known to be too large."""
    too_large = Refused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{what} may have {show_as.size(limit)}", remedy=remedy
    )
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > len(str(limit)) or int(declared) > limit):
        raise too_large
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise too_large
        pieces.append(piece)
    return b"".join(pieces)


def keep(store: Store, data: bytes) -> Uploaded:
    """Read, check and store it."""
    recording = _read(data)
    run_id = recording.run.id
    try:
        new = take_in(store, recording, show=show)
    except RunExists as error:
        raise Refused(HTTPStatus.CONFLICT, error.problem, remedy=error.remedy) from None
    except Unjudgeable as error:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, error.problem, remedy=error.remedy) from None
    return Uploaded(run=run_id, new=new, page=f"/runs/{run_id}")


def _read(data: bytes) -> Recording:
    if not data:
        raise Refused(HTTPStatus.BAD_REQUEST, "there is nothing in this upload", remedy=REMEDY)
    try:
        recording = from_bundle(data)
    except BundleTooLarge as error:
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error.problem, remedy=error.remedy) from None
    except StoreError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, error.problem, remedy=error.remedy) from None
    flaws = [*flaws_of(recording, now=time.time())]
    if flaws:
        more = f"; and {len(flaws) - _SHOWN_FLAWS} more" if len(flaws) > _SHOWN_FLAWS else ""
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(flaws[:_SHOWN_FLAWS]) + more, remedy=REMEDY)
    return recording
