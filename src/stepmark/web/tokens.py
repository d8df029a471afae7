"""Tokens: who may read and who may upload, compared in constant time, never stored in a page or a URL."""

from __future__ import annotations

import hmac
import re
import secrets
from hashlib import sha256

from stepmark.errors import UsageError
from stepmark.records.record import Record

MIN_LENGTH = 16
"""Fewer characters can be guessed by trying."""
_ALLOWED = re.compile(r"[A-Za-z0-9._~+/=-]+")
"""What a bearer token may consist of (RFC 6750, section 2.1)."""
_BEARER = re.compile(r"bearer +(\S+) *", re.IGNORECASE)


class Tokens(Record, frozen=True, kw_only=True):
    """The secrets of one server."""

    read: str | None = None
    """Needed to see anything; None where everyone who reaches the server may."""
    write: str | None = None
    """Needed to upload; None where nobody may."""

    def __post_init__(self) -> None:
        if self.read is not None and self.write is not None and same(self.read, self.write):
            raise UsageError(
                "the tokens for reading and for uploading are the same",
                remedy="give two: those who may read shall not all be able to write",
            )

    def __repr__(self) -> str:
        """Without the secrets: this may end in a log."""
        return f"Tokens(read={self.read is not None}, write={self.write is not None})"


def new_token() -> str:
    """256 random bits."""
    return secrets.token_urlsafe(32)


def checked_token(token: str, *, what: str) -> str:
    """A token that a user chose, if it can be one."""
    if len(token) < MIN_LENGTH:
        raise UsageError(
            f"the {what} has {len(token)} characters: it could be guessed",
            remedy=f"take {MIN_LENGTH} or more, or leave it out and one is made",
        )
    if _ALLOWED.fullmatch(token) is None:
        raise UsageError(
            f"the {what} has characters that a header cannot carry",
            remedy="use letters, digits and any of . _ ~ + / = -",
        )
    return token


def same(given: str, expected: str) -> bool:
    """Whether two secrets agree; takes as long wherever they begin to differ."""
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode(errors="replace"))


def bearer_of(authorization: str | None) -> str | None:
    """The token in an Authorization header."""
    found = _BEARER.fullmatch(authorization or "")
    return found[1] if found else None


def session_of(token: str) -> str:
    """What a browser's cookie holds instead of the token: it cannot be turned back into it."""
    return hmac.new(token.encode(), b"stepmark session", sha256).hexdigest()
