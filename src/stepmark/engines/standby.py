"""Standby: a worker started before it is known what it will be asked, so that its start takes nobody's time.

A process that uses an accelerator needs a context on it first: on an H200 a third of a second, as long as
the rest of a solo pass. So while a case passes alone, where nothing is judged by time, the next worker is
started. It makes the device ready and sleeps until it is called up. None is started while a launch takes
times, and none is left over beside one. Up to three at a time, with cuBLAS' handle made ready too, were no
gain on an H200: a pass of SwitchBack's operations took 0.51 s in the mean either way (48 and 60 passes).

It is a favour and nothing that anybody rests on: where one cannot be started, or does not begin when it is
called up, nothing is charged to the case, the worker is started as ever, and no other stands by.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from stepmark.engines.process import WorkerProcess
from stepmark.errors import EngineError
from stepmark.measure.requests import Request, StandBy

PATIENCE = 30.0
"""Seconds in which one that is called up must begin: it has had some, and begins in milliseconds."""


class Standby:
    """At most one worker that waits."""

    def __init__(self, start: Callable[[StandBy], WorkerProcess], *, patience: float = PATIENCE) -> None:
        self._start = start
        self._patience = patience
        self._waiting: WorkerProcess | None = None
        self._is_worth_it = True

    @property
    def waits(self) -> bool:
        return self._waiting is not None

    def prepare(self, device: str) -> None:
        """Have one start, unless one waits."""
        if self._waiting is None and self._is_worth_it:
            with contextlib.suppress(OSError, EngineError):  # no room for another process, or its files
                self._waiting = self._start(StandBy(device=device))

    def call_up(self, request: Request) -> WorkerProcess | None:
        """The one that waits, at work; None where there is none, or it does not begin."""
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return None
        try:
            if waiting.call_up(request, patience=self._patience):
                return waiting
        except BaseException:
            waiting.close()
            raise
        waiting.close()
        self._is_worth_it = False
        return None

    def dismiss(self) -> None:
        """End the one that waits."""
        if self._waiting is not None:
            self._waiting.close()
            self._waiting = None
