"""Logging in: a form that turns the token into a cookie, and a button that takes it back."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from stepmark.web.gate import COOKIE
from stepmark.web.hosts import local_path
from stepmark.web.templating import render_page
from stepmark.web.tokens import Tokens, same, session_of
from stepmark.web.upload import body_of

MAX_FORM = 8192
"""Bytes of a token and of the place to go to."""
SECONDS = 30 * 24 * 3600
"""How long a browser stays logged in."""


def login_form(request: Request) -> Response:
    """The form; somebody who may read already is sent on."""
    tokens: Tokens = request.app.state.tokens
    target = local_path(request.query_params.get("next", "/"))
    if tokens.read is None:
        return RedirectResponse(target, status_code=HTTPStatus.SEE_OTHER)
    return ask_for_token(request, target, status=HTTPStatus.OK)


async def log_in(request: Request) -> Response:
    """Sets the cookie, which scripts cannot read and other sites' requests do not carry."""
    tokens: Tokens = request.app.state.tokens
    body = await body_of(request, limit=MAX_FORM, what="this form", remedy="a token is much shorter")
    form = dict(parse_qsl(body.decode(errors="replace")))
    target = local_path(form.get("next", "/"))
    if tokens.read is not None and not same(form.get("token", "").strip(), tokens.read):
        return ask_for_token(request, target, status=HTTPStatus.UNAUTHORIZED, wrong=True)
    answer = RedirectResponse(target, status_code=HTTPStatus.SEE_OTHER)
    if tokens.read is not None:
        answer.set_cookie(
            COOKIE,
            session_of(tokens.read),
            max_age=SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
    return answer


def log_out(request: Request) -> Response:
    answer = RedirectResponse("/login", status_code=HTTPStatus.SEE_OTHER)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return answer


def ask_for_token(request: Request, target: str, *, status: HTTPStatus, wrong: bool = False) -> Response:
    return render_page(request, "login.html", status=status, next=target, wrong=wrong)
