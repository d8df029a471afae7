"""The gate: every request passes it, and shows by which name it asks, where it comes from, and its token."""

from __future__ import annotations

from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from stepmark.web.hosts import asks_for_loopback, same_origin
from stepmark.web.problems import Refused
from stepmark.web.tokens import Tokens, bearer_of, same, session_of

COOKIE = "stepmark_session"
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="stepmark"'}
OPEN_PATHS = ("/login", "/static/")
"""What a browser needs before it has a token; nothing of the store is there."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def check_host(headers: Headers, tokens: Tokens) -> None:
    """Without a token only the name can tell our own pages from another site that was bound to our address.
    With one there is nothing to check: a browser sends the cookie to the name it got it from."""
    if tokens.read is None and not asks_for_loopback(headers.get("host")):
        raise Refused(
            HTTPStatus.MISDIRECTED_REQUEST,
            "this server answers to localhost only",
            remedy="to serve it under another name, start it with --token",
        )


def check_origin(method: str, headers: Headers) -> None:
    """What changes something is not taken from pages of other sites."""
    if method in SAFE_METHODS:
        return
    if not same_origin(headers.get("origin"), headers.get("host")):
        raise Refused(HTTPStatus.FORBIDDEN, "this request comes from a page of another site")
    if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        raise Refused(HTTPStatus.FORBIDDEN, "this request comes from a page of another site")


def may_read(connection: HTTPConnection, tokens: Tokens) -> bool:
    """By token in the Authorization header, or by the cookie that logging in set."""
    if tokens.read is None:
        return True
    given = bearer_of(connection.headers.get("authorization"))
    if given is not None and same(given, tokens.read):
        return True
    cookie = connection.cookies.get(COOKIE)
    return cookie is not None and same(cookie, session_of(tokens.read))


def check_write(headers: Headers, tokens: Tokens) -> None:
    """By the write token in the Authorization header alone: a cookie would let other sites' pages write."""
    if tokens.write is None:
        raise Refused(HTTPStatus.FORBIDDEN, "this server is read only", remedy="start it with --allow-upload")
    given = bearer_of(headers.get("authorization"))
    if given is None:
        raise Refused(
            HTTPStatus.UNAUTHORIZED,
            "uploading needs the write token",
            remedy='send it in a header: -H "Authorization: Bearer $STEPMARK_WRITE_TOKEN"',
            headers=CHALLENGE,
        )
    if not same(given, tokens.write):
        raise Refused(
            HTTPStatus.FORBIDDEN, "this is not the write token", remedy="stepmark serve printed it at start"
        )


def is_open(path: str) -> bool:
    """Whether a path is answered without a token."""
    return path in OPEN_PATHS or path.startswith("/static/")
