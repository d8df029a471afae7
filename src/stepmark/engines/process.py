"""A worker seen from the runner: what it was given, what it has said, how it ended."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from stepmark.engines.oom import oom_kills
from stepmark.engines.request_file import temporary_file, written
from stepmark.measure.assemble import last_entered
from stepmark.measure.failures import from_exit, from_hang
from stepmark.measure.journal import JournalReader, new_journal_file
from stepmark.measure.protocol import Event, Finished
from stepmark.measure.requests import Handed, Request, StandBy
from stepmark.records.outcome import Failure

_TAIL = 16_384
"""Bytes of a worker's output that are kept."""
_PATIENCE = 3.0
"""Seconds a hung worker has to write where it hangs before it is killed."""
_LAST_PATIENCE = 60.0
"""Seconds a killed worker has to be gone. A driver takes some to give back a device's memory; where a device
hangs the kernel cannot end the process, and the run goes on without it."""

_GLANCE = 0.005
"""Seconds between looks at a worker that is about to begin."""
_LONGEST_LOOK = 2.0
"""Seconds that pass at most from one look at a worker to the next. Where more did, the runner did not run,
and the worker perhaps no more than it: in a container that is frozen, or under SIGSTOP."""

Tick = Callable[[], None]
"""Called about once a second while the runner waits."""


@dataclass(frozen=True, kw_only=True)
class Descriptors:
    """What a worker is handed, in this order."""

    request: int
    journal: int
    output: int
    channel: int | None

    def all(self) -> list[int]:
        most = [self.request, self.journal, self.output]
        return most if self.channel is None else [*most, self.channel]


class Nursery(Protocol):
    """Where workers come from."""

    name: str

    def start(self, descriptors: Descriptors, *, stands_by: bool = False) -> int:
        """Start a worker and return its process id; one that `stands_by` has nothing to do yet."""

    def called_up(self, pid: int) -> None:
        """It has now."""

    def status(self, pid: int, wait: float) -> int | None:
        """Its exit status, or None if it still runs after `wait` seconds; sleeps meanwhile."""

    def signal(self, pid: int, number: int) -> None:
        """Send a signal to the worker and what it started."""

    def close(self) -> None:
        """Kill what is left."""


class WorkerProcess:
    """One worker from start to end."""

    def __init__(
        self, nursery: Nursery, request: Handed, *, timeout: float, with_channel: bool = False
    ) -> None:
        """`with_channel`: it is to be spoken to while it lives, turn by turn or when it is called up."""
        self._nursery = nursery
        self._timeout = timeout
        self._oom_kills = oom_kills()
        self._output = temporary_file()
        self.channel: socket.socket | None = None
        theirs: socket.socket | None = None
        if with_channel:
            self.channel, theirs = socket.socketpair()
        journal = new_journal_file()
        self._reader = JournalReader(journal)
        self.events: list[Event] = []
        with written(request) as asked:
            self.pid = nursery.start(
                Descriptors(
                    request=asked.fileno(),
                    journal=journal,
                    output=self._output.fileno(),
                    channel=theirs.fileno() if theirs else None,
                ),
                stands_by=isinstance(request, StandBy),
            )
        os.close(journal)
        if theirs:
            theirs.close()
        self._status: int | None = None
        self._hung = False
        self._committed, self._silence, self._looked = 0, 0.0, time.monotonic()

    def call_up(self, request: Request, *, patience: float) -> bool:
        """Hand over what it has stood by for. False where it does not begin with that: it has ended, or does
        not answer within `patience` seconds."""
        assert self.channel is not None
        self._nursery.called_up(self.pid)
        with written(request) as asked, contextlib.suppress(OSError):
            socket.send_fds(self.channel, [b"!"], [asked.fileno()])
        self.channel.close()
        self.channel = None
        self._oom_kills = oom_kills()
        self.touch()
        end = time.monotonic() + patience
        while not self.read() and not self.watch(_GLANCE) and time.monotonic() < end:
            pass
        self.read()
        return bool(self.events)

    @property
    def started_by(self) -> str:
        return self._nursery.name

    def read(self) -> list[Event]:
        """Events not seen before; all of them are also in `events`."""
        new = self._reader.read()
        self.events += new
        return new

    def read_all(self) -> list[Event]:
        """Everything it has said."""
        self.read()
        return self.events

    def watch(self, wait: float) -> bool:
        """Look after the worker for at most `wait` seconds; True once it has ended. A worker that has made
        no progress within the time limit is made to say where it hangs, and killed."""
        if self._status is None:
            self._status = self._nursery.status(self.pid, wait)
            if self._status is None and self._is_silent():
                self._end_hang()
        return self._status is not None

    def _is_silent(self) -> bool:
        passed = min(time.monotonic() - self._looked, _LONGEST_LOOK)
        if self._reader.committed != self._committed:
            self.touch()
            return False
        self._silence, self._looked = self._silence + passed, time.monotonic()
        return self._silence > self._timeout

    def touch(self) -> None:
        """Start the time limit anew: the worker has just been given something to do."""
        self._committed, self._silence, self._looked = self._reader.committed, 0.0, time.monotonic()

    def _end_hang(self) -> None:
        self._hung = True
        self._nursery.signal(self.pid, signal.SIGABRT)  # the fault handler writes every thread's traceback
        self._status = self._nursery.status(self.pid, _PATIENCE)
        if self._status is None:
            self._nursery.signal(self.pid, signal.SIGKILL)
            ended = self._nursery.status(self.pid, _LAST_PATIENCE)
            self._status = -signal.SIGKILL if ended is None else ended

    def join(self, tick: Tick) -> None:
        """Wait until the worker has ended."""
        while not self.watch(1.0):
            tick()
        self.read()

    def kill(self) -> None:
        """End it now."""
        if self._status is None:
            self._nursery.signal(self.pid, signal.SIGKILL)
            self._status = self._nursery.status(self.pid, _PATIENCE)

    @property
    def finished(self) -> Finished | None:
        """Its last word, if it did all it was asked."""
        last = self.events[-1] if self.events else None
        return last if isinstance(last, Finished) else None

    def death(self) -> Failure | None:
        """Why it ended without finishing; None if it finished."""
        self.read()
        if self.finished is not None:
            return None
        where = last_entered(self.events)
        if self._hung:
            failure = from_hang(self._timeout, where.stage, output=self.output())
        else:
            killed = self._status == -signal.SIGKILL and oom_kills() > self._oom_kills
            failure = from_exit(self._status or 0, where.stage, oom_killed=killed, output=self.output())
        return replace(failure, round=where.round)

    def output(self) -> str:
        """The tail of what it printed."""
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - _TAIL))
        return self._output.read().decode(errors="replace")

    def close(self) -> None:
        self.kill()
        self._reader.close()
        self._output.close()
        if self.channel is not None:
            self.channel.close()
