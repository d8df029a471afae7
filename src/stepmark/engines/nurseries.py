"""Where workers come from: a fork server, or, where forking is unsafe, fresh interpreters."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import TypeVar

from stepmark.engines.control import CalledUp, Exited, Kill, Message, Preload, Preloaded, Start, Started
from stepmark.engines.interpreter import interpreter
from stepmark.engines.process import Descriptors
from stepmark.engines.server import Server, ServerGone
from stepmark.errors import EngineError

_Reply = TypeVar("_Reply", Preloaded, Started)

_SPAWNED = "from stepmark.engines.birth import spawned; spawned()"
_PATIENCE = 5.0
"""Seconds in which a killed worker ends."""
_NAMED = 5
"""Modules of hundreds that are named when a server ended over them."""


class ForkNursery:
    """Workers forked from a server that has imported torch.

    A server that ends, or does not answer, takes the workers that live with it and nothing else: the next
    worker comes from a new one. What a server imported when that happened no other is asked to import.
    The output of the workers says so, which their trials keep.
    """

    name = "fork-server"

    def __init__(self, environment: Mapping[str, str], *, patience: float = 120.0) -> None:
        self._environment = environment
        self._server = Server(environment)
        self.patience = patience
        """Seconds within which the server must answer; the first answer comes after `import torch`."""
        self._exits: dict[int, int] = {}
        self._outputs: dict[int, int] = {}
        """Descriptors of our own, of the workers that live."""
        self._imported: set[str] = set()
        self._avoided: set[str] = set()
        self._news = ""
        """What the next worker's output is to say."""

    @property
    def pid(self) -> int:
        """Of the server: what its workers use of the processor is counted there once they have ended."""
        return self._server.pid

    def preload(self, modules: Sequence[str], path: Sequence[str]) -> bool:
        """Have the server import what it has not yet; whether forking is still safe afterwards."""
        new = [name for name in modules if name not in self._imported]
        if not new:
            return True
        try:
            self._server.ask(Preload(modules=tuple(new), path=tuple(path)))
        except ServerGone:
            return True  # the next worker comes from another, and what it has to import is learnt again
        self._imported.update(new)
        try:
            return self._expect(Preloaded).fork_is_safe
        except ServerGone as gone:
            self._avoided.update(new)
            self._replace(gone, f" when it was to import {_listed(new)}")
            return True

    def start(self, descriptors: Descriptors, *, stands_by: bool = False) -> int:
        while True:  # twice at most: a server that has never answered is not replaced
            try:
                self._server.ask(Start(stands_by=stands_by), descriptors.all())
                pid = self._expect(Started).pid
                break
            except ServerGone as gone:
                self._replace(gone)
        # The kernel gives numbers out again: in a run of an hour beside other work, 4 of 430 workers had one
        # that a worker before them had had, and were taken for it, and for dead.
        self._exits.pop(pid, None)
        self._outputs[pid] = os.dup(descriptors.output)
        _tell(descriptors.output, self._news)
        self._news = ""
        return pid

    def called_up(self, pid: int) -> None:
        with contextlib.suppress(ServerGone):
            self._server.ask(CalledUp(pid=pid))

    def status(self, pid: int, wait: float) -> int | None:
        try:
            while pid not in self._exits:
                if self._hear(wait) is None:
                    return None
        except ServerGone as gone:
            self._bury(gone)
        return self._exits[pid]

    def signal(self, pid: int, number: int) -> None:
        with contextlib.suppress(ServerGone):
            self._server.ask(Kill(pid=pid, signal=number))

    def _hear(self, wait: float) -> Message | None:
        message = self._server.hear(wait)
        if isinstance(message, Exited):
            self._note_exit(message.pid, message.status)
        return message

    def _expect(self, kind: type[_Reply]) -> _Reply:
        end = time.monotonic() + self.patience
        while (left := end - time.monotonic()) > 0.0:
            message = self._hear(left)
            if isinstance(message, kind):
                return message
        raise self._server.give_up(f"it did not answer for {self.patience:g} s")

    def _note_exit(self, pid: int, status: int) -> None:
        self._exits[pid] = status
        output = self._outputs.pop(pid, None)
        if output is not None:
            os.close(output)

    def _bury(self, gone: ServerGone) -> None:
        """The kernel kills workers whose server dies, where it can; what they started is left to us."""
        for pid, output in [*self._outputs.items()]:
            _kill_session(pid)
            _tell(output, f"stepmark: the fork server ended ({gone.how}), and this worker with it\n")
            self._note_exit(pid, -signal.SIGKILL)

    def _replace(self, gone: ServerGone, when: str = "") -> None:
        self._bury(gone)
        if not self._server.has_answered:
            raise EngineError(
                f"the fork server ended before it had begun: {gone.how}",
                remedy="its last words are above, if it had any; try --start spawn",
                detail=gone.words,
            ) from gone
        ended = f"the fork server had ended{when} ({gone.how})"
        self._news = f"stepmark: {ended}: this worker is from a new one\n{gone.words}"
        self._server.close()
        self._server = Server(self._environment)
        self._imported = set(self._avoided)

    def close(self) -> None:
        self._server.close()
        for output in self._outputs.values():
            os.close(output)
        self._outputs.clear()


class SpawnNursery:
    """Workers as fresh interpreters: slower to start, safe everywhere."""

    name = "spawn"

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._workers: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, descriptors: Descriptors, *, stands_by: bool = False) -> int:  # noqa: ARG002
        worker = subprocess.Popen(
            interpreter(_SPAWNED, os.getpid(), *descriptors.all()),
            pass_fds=descriptors.all(),
            env=self._environment,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=descriptors.output,
            stderr=descriptors.output,
        )
        self._workers[worker.pid] = worker
        return worker.pid

    def called_up(self, pid: int) -> None:
        """Nobody need know: what a worker leaves in its group is killed when it ends."""

    def status(self, pid: int, wait: float) -> int | None:
        try:
            status = self._workers[pid].wait(timeout=wait)
        except subprocess.TimeoutExpired:
            return None
        _kill_session(pid)  # what the worker started and left behind
        return status

    def signal(self, pid: int, number: int) -> None:
        if self._workers[pid].poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)

    def close(self) -> None:
        for pid, worker in self._workers.items():
            self.signal(pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):  # a device that hangs does not let it go
                worker.wait(timeout=_PATIENCE)


def _tell(output: int, text: str) -> None:
    with contextlib.suppress(OSError):  # a full disk
        os.write(output, text.encode())


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _kill_session(pid: int) -> None:
    """Of a worker that has ended: its number is not given out again while anything of its session lives."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
