"""Admission: the gate as middleware, and what those see who may not pass."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from stepmark.web.gate import CHALLENGE, check_host, check_origin, is_open, may_read
from stepmark.web.hosts import local_path
from stepmark.web.login import ask_for_token
from stepmark.web.problem_page import show_problem
from stepmark.web.problems import Refused, make_problem, problem_json, wants_json
from stepmark.web.tokens import Tokens


class Admission:
    """Lets requests through to the application, or answers in its place."""

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(Request(scope))
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        try:
            check_host(request.headers, self._tokens)
            check_origin(request.method, request.headers)
        except Refused as error:
            return show_problem(request, error.problem, error.headers)
        uploads = request.method == "POST" and request.url.path == "/api/runs"  # has a token of its own
        if is_open(request.url.path) or uploads or may_read(request, self._tokens):
            return None
        if wants_json(request):
            problem = make_problem(
                HTTPStatus.UNAUTHORIZED,
                "this store needs a token",
                remedy='send it in a header: -H "Authorization: Bearer $STEPMARK_TOKEN"',
            )
            return problem_json(problem, CHALLENGE)
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return ask_for_token(request, local_path(target), status=HTTPStatus.UNAUTHORIZED)
