"""The intake: uploads wait here for their turn, and are read one at a time; few may wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from stepmark.web.problems import Refused

PLACES = 8
"""Uploads that are on their way or wait: so many bodies are in memory at most."""
ON_ITS_WAY = 300.0
"""Seconds a body may take to arrive: one that stays away does not keep its place."""
RETRY_AFTER = 5
"""Seconds after which a program that found no place may come again."""


class Intake:
    """Reading a bundle takes many times its size: one after the other needs no more memory than one."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._present = 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """From before the body is read to the answer; refused where all are taken."""
        if self._present >= PLACES:
            raise Refused(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"{PLACES} other uploads are being taken in",
                remedy="try again in some seconds: curl --retry does",
                headers={"Retry-After": str(RETRY_AFTER)},
            )
        self._present += 1
        try:
            yield
        finally:
            self._present -= 1

    @asynccontextmanager
    async def arrival(self) -> AsyncIterator[None]:
        """While the body is on its way."""
        try:
            async with asyncio.timeout(ON_ITS_WAY):
                yield
        except TimeoutError:
            raise Refused(
                HTTPStatus.REQUEST_TIMEOUT, "this upload did not arrive in time", remedy="send it again"
            ) from None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """While it is read, checked and stored."""
        async with self._turn:
            yield
