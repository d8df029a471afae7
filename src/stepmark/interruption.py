"""Interruption: Ctrl-C, SIGTERM and SIGHUP, held back while a trial is being stored.

Blocking the signals in this thread would not do: the kernel hands them to any other thread of the process
(those of NumPy's BLAS, for one), and Python then raises in the main thread all the same, in the middle of a
transaction. So the handlers themselves know when to wait.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Handlers for the length of a `with`; does nothing outside the main thread, where none can be."""

    def __init__(self) -> None:
        self._held = False
        self._raised = False
        """The run is stopping: who presses Ctrl-C twice is not to lose what the first one saves meanwhile."""
        self._pending = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in _heard()}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._held or self._raised:
            self._pending = True
        else:
            self._raise()

    def _raise(self) -> None:
        self._raised, self._pending = True, False
        raise KeyboardInterrupt

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """What comes in here raises KeyboardInterrupt at the end of the block. So does what came again after
        one that somebody's code swallowed."""
        with self.ignored():
            yield
        if self._pending:
            self._raise()

    @contextmanager
    def ignored(self) -> Iterator[None]:
        """What comes in here is only noted: the run is stopping already, or `held_back` will see to it."""
        self._held = True
        try:
            yield
        finally:
            self._held = False


def _heard() -> list[signal.Signals]:
    """A run that was started by nohup is to go on when its terminal goes."""
    spared = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [number for number in _SIGNALS if number is not signal.SIGHUP or not spared]
