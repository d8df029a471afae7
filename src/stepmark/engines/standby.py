"""Standby: a worker started before it is known what it will be asked, so that its start takes nobody's time.

A process that uses an accelerator needs a context on it first: on an H200 a third of a second, as long as
the rest of a solo pass. So while a case passes alone, where nothing is judged by time, the next worker is
started. It makes the device ready and sleeps until it is called up. None is started while a launch takes
times, and none is left over beside one.
"""

from __future__ import annotations

from collections.abc import Callable

from stepmark.engines.process import WorkerProcess
from stepmark.measure.requests import Request, StandBy


class Standby:
    """At most one worker that waits."""

    def __init__(self, start: Callable[[StandBy], WorkerProcess]) -> None:
        self._start = start
        self._waiting: WorkerProcess | None = None

    def prepare(self, device: str) -> None:
        """Have one start, unless one waits."""
        if self._waiting is None:
            self._waiting = self._start(StandBy(device=device))

    def call_up(self, request: Request) -> WorkerProcess | None:
        """The one that waits, with its request; None where there is none, or it has ended meanwhile."""
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return None
        if waiting.watch(0.0):
            waiting.close()
            return None
        waiting.hand_over(request)
        return waiting

    def dismiss(self) -> None:
        """End the one that waits."""
        if self._waiting is not None:
            self._waiting.close()
            self._waiting = None
