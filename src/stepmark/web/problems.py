"""Problems: what went wrong with a request, as a JSON document (RFC 9457) or as a page."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from stepmark.errors import StepmarkError, StoreError
from stepmark.records.record import Record

MEDIA_TYPE = "application/problem+json"


class Problem(Record, frozen=True, kw_only=True):
    """A problem document."""

    title: str
    """The status in words."""
    status: int
    detail: str
    """What is wrong."""
    remedy: str = ""
    """What to do about it."""
    type: str = "about:blank"


class Refused(Exception):
    """Raised where a request cannot be answered."""

    def __init__(
        self, status: HTTPStatus, detail: str, *, remedy: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.headers = headers or {}
        self.problem = make_problem(status, detail, remedy=remedy)


def make_problem(status: HTTPStatus, detail: str, *, remedy: str = "") -> Problem:
    return Problem(title=status.phrase, status=status.value, detail=detail, remedy=remedy)


def problem_of(error: StepmarkError) -> Problem:
    """Of a user's mistake, or of a store that cannot be read."""
    status = HTTPStatus.SERVICE_UNAVAILABLE if isinstance(error, StoreError) else HTTPStatus.BAD_REQUEST
    return make_problem(status, error.problem, remedy=error.remedy)


def problem_json(problem: Problem, headers: dict[str, str] | None = None) -> Response:
    return Response(
        msgspec.json.encode(problem), status_code=problem.status, media_type=MEDIA_TYPE, headers=headers
    )


def wants_json(request: Request) -> bool:
    """Everything under /api but its readable page."""
    return request.url.path.startswith("/api/")
