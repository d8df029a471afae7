"""The page of a problem, for people; programs get the document instead."""

from __future__ import annotations

import logging
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepmark.errors import StepmarkError
from stepmark.web.problems import (
    Problem,
    Refused,
    make_problem,
    problem_json,
    problem_of,
    wants_json,
)
from stepmark.web.templating import render_page

LOG = logging.getLogger("stepmark.web")
MISTAKE = make_problem(
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "this is a mistake in stepmark",
    remedy="the terminal of stepmark serve shows what happened",
)


def show_problem(request: Request, problem: Problem, headers: dict[str, str] | None = None) -> Response:
    """As a document or as a page, by who asks."""
    if wants_json(request):
        return problem_json(problem, headers)
    answer = render_page(request, "problem.html", status=problem.status, problem=problem)
    answer.headers.update(headers or {})
    return answer


def refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return show_problem(request, error.problem, error.headers)


def mistaken(request: Request, error: Exception) -> Response:
    """What stepmark itself complains about, in its own words."""
    assert isinstance(error, StepmarkError)
    return show_problem(request, problem_of(error))


def unanswered(request: Request, error: Exception) -> Response:
    """No such path, or not with this method."""
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    detail = {
        HTTPStatus.NOT_FOUND: "there is nothing at this address",
        HTTPStatus.METHOD_NOT_ALLOWED: f"{request.method} is not possible here",
    }.get(status, str(error.detail))
    return show_problem(request, make_problem(status, detail), dict(error.headers or {}))


class Unbroken:
    """Answers where the application raises what it should not have: the log is told, the reader is not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:
            if scope["type"] != "http" or begun:
                raise
            request = Request(scope)
            LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)  # noqa: TRY400
            await show_problem(request, MISTAKE)(scope, receive, send)
