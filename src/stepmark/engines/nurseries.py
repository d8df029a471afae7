"""Where workers come from: a fork server, or, where forking is unsafe, fresh interpreters."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import TypeVar

from stepmark.engines.control import (
    ControlChannel,
    Exited,
    Kill,
    Preload,
    Preloaded,
    Start,
    Started,
    is_ready,
)
from stepmark.engines.process import Descriptors
from stepmark.errors import EngineError

_Reply = TypeVar("_Reply", Preloaded, Started)

_SERVER = "from stepmark.engines.forkserver import main; main()"
_SPAWNED = "from stepmark.engines.birth import spawned; spawned()"


class ForkNursery:
    """Workers forked from a server that has imported torch."""

    name = "fork-server"

    def __init__(self, environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        # A file, not a pipe: whatever imported modules print must never block the server.
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        # A session of its own: Ctrl-C reaches the runner, which decides what happens to the workers.
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(theirs.fileno()), str(os.getpid())],
            pass_fds=[theirs.fileno()],
            env=dict(environment),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._words,
        )
        theirs.close()
        self._channel = ControlChannel(ours)
        self._exits: dict[int, int] = {}
        self.pid = self._server.pid
        """Of the server: what its workers use of the processor is counted there once they have ended."""

    def preload(self, modules: Sequence[str], path: Sequence[str]) -> bool:
        """Have the server import modules; whether forking is still safe afterwards."""
        self._channel.send(Preload(modules=tuple(modules), path=tuple(path)))
        return self._expect(Preloaded).fork_is_safe

    def start(self, descriptors: Descriptors) -> int:
        self._channel.send(Start(), descriptors.all())
        pid = self._expect(Started).pid
        # The kernel gives numbers out again: in a run of an hour beside other work, 4 of 430 workers had one
        # that a worker before them had had, and were taken for it, and for dead.
        self._exits.pop(pid, None)
        return pid

    def status(self, pid: int, wait: float) -> int | None:
        while pid not in self._exits:
            if not is_ready(self._channel, wait):
                return None
            self._take()
        return self._exits[pid]

    def signal(self, pid: int, number: int) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._channel.send(Kill(pid=pid, signal=number))

    def _take(self) -> object:
        received = self._channel.receive()
        if received is None:
            raise EngineError(
                "the fork server ended unexpectedly",
                remedy="its last words are above; try --start spawn",
                detail=self._last_words(),
            )
        message, _ = received
        if isinstance(message, Exited):
            self._exits[message.pid] = message.status
        return message

    def _expect(self, kind: type[_Reply]) -> _Reply:
        while True:
            message = self._take()
            if isinstance(message, kind):
                return message

    def _last_words(self) -> str:
        self._server.wait(timeout=5)
        self._words.seek(0)
        return self._words.read().decode(errors="replace")[-4000:]

    def close(self) -> None:
        self._channel.close()  # the server kills its workers and leaves
        try:
            self._server.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._words.close()


class SpawnNursery:
    """Workers as fresh interpreters: slower to start, safe everywhere."""

    name = "spawn"

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._workers: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, descriptors: Descriptors) -> int:
        numbers = [os.getpid(), *descriptors.all()]
        worker = subprocess.Popen(
            [sys.executable, "-c", _SPAWNED, *map(str, numbers)],
            pass_fds=descriptors.all(),
            env=self._environment,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=descriptors.output,
            stderr=descriptors.output,
        )
        self._workers[worker.pid] = worker
        return worker.pid

    def status(self, pid: int, wait: float) -> int | None:
        try:
            return self._workers[pid].wait(timeout=wait)
        except subprocess.TimeoutExpired:
            return None

    def signal(self, pid: int, number: int) -> None:
        if self._workers[pid].poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)

    def close(self) -> None:
        for pid, worker in self._workers.items():
            self.signal(pid, signal.SIGKILL)
            worker.wait()
