"""Standby: workers started before it is known what they will be asked, so that a start takes nobody's time.

A process that uses an accelerator needs a context on it first, and a library's handle for products: on an
H200 half a second, longer than the rest of a solo pass. So while a case passes alone, where nothing is judged
by time, the next workers are started. They make the device ready and sleep until they are called up. None is
started while a launch takes times, and none is left over beside one.

It is a favour and nothing that anybody rests on: where one cannot be started, or does not begin when it is
called up, nothing is charged to the case, the worker is started as ever, and no other stands by.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from stepmark.engines.process import WorkerProcess
from stepmark.errors import EngineError
from stepmark.measure.requests import Launch, Request, StandBy

PATIENCE = 30.0
"""Seconds in which one that is called up must begin: it has had some, and begins in milliseconds."""


MOST = 3
"""That wait at a time: a pass takes a third of what a start takes."""


class Wanted(NamedTuple):
    """Workers for which there will be something to do."""

    device: str
    number: int


NOBODY = Wanted("", 0)


class Standby:
    """The workers that wait; whoever came first is called up first."""

    def __init__(self, start: Callable[[StandBy], WorkerProcess], *, patience: float = PATIENCE) -> None:
        self._start = start
        self._patience = patience
        self._waiting: deque[WorkerProcess] = deque()
        self._is_worth_it = True

    @property
    def waits(self) -> bool:
        return bool(self._waiting)

    def prepare(self, wanted: Wanted) -> None:
        """Have so many start as are wanted and do not wait."""
        with contextlib.suppress(OSError, EngineError):  # no room for another process, or its files
            while self._is_worth_it and len(self._waiting) < min(wanted.number, MOST):
                self._waiting.append(self._start(StandBy(device=wanted.device)))

    def call_up(self, request: Request) -> WorkerProcess | None:
        """One that waits, at work; None where there is none, or it does not begin."""
        if not self._waiting:
            return None
        waiting = self._waiting.popleft()
        try:
            if isinstance(request, Launch):
                self.dismiss()
            if waiting.call_up(request, patience=self._patience):
                return waiting
        except BaseException:
            waiting.close()
            raise
        waiting.close()
        self._is_worth_it = False
        self.dismiss()
        return None

    def dismiss(self) -> None:
        """End those that wait."""
        while self._waiting:
            self._waiting.popleft().close()
