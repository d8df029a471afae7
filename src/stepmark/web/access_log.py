"""The access log: method, path, status and time of each request; neither queries nor headers are in it."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger("stepmark.web.access")


class AccessLog:
    """Writes one line a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status = 0
        begin = time.monotonic()

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            if scope["type"] == "http":
                path = (
                    scope["path"].encode("unicode_escape").decode()
                )  # a line break in a path stays in its line
                LOG.info("%s %s %d %.0f ms", scope["method"], path, status, 1e3 * (time.monotonic() - begin))
