"""A lane in a process of its own, driven turn by turn from the runner."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from stepmark.engines.control import is_ready
from stepmark.engines.process import Tick, WorkerProcess
from stepmark.measure.command import Command
from stepmark.measure.failures import LaneStopped
from stepmark.measure.protocol import BlockDone, Built, Event, FlagsChanged, LaneFailed, Spoiled, Warmed


class RemoteLane:
    """Each verb is one command; while it is not this lane's turn its process sleeps in a read."""

    def __init__(self, variant: str, worker: WorkerProcess, *, tick: Tick) -> None:
        self._variant = variant
        self._worker = worker
        self._tick = tick

    @property
    def variant(self) -> str:
        return self._variant

    def build(self) -> Sequence[Event]:
        return self._turn(Command.BUILD)

    def warm_up(self) -> Sequence[Event]:
        return self._turn(Command.WARM_UP)

    def renew(self, number: int) -> Sequence[Event]:  # noqa: ARG002
        return self._turn(Command.RENEW)

    def block(self, number: int, *, lead_in: bool = False) -> Sequence[Event]:  # noqa: ARG002
        """The process counts its own rounds."""
        return self._turn(Command.BLOCK_AFTER_LEAD_IN if lead_in else Command.BLOCK)

    def end(self, number: int) -> Sequence[Event]:  # noqa: ARG002
        return self._turn(Command.END)

    def leave(self) -> None:
        """Send the process home and wait for it."""
        if not self._worker.watch(0.0):
            self._send(Command.LEAVE)
            self._worker.join(self._tick)

    def _turn(self, command: Command) -> Sequence[Event]:
        self._worker.read()
        self._worker.touch()
        self._send(command)
        self._await_answer()
        events = self._worker.read()
        for event in events:
            if isinstance(event, LaneFailed):
                raise LaneStopped(event.failure)
        said = Built | Warmed | BlockDone | FlagsChanged | Spoiled
        return [event for event in events if isinstance(event, said)]

    def _send(self, command: Command) -> None:
        assert self._worker.channel is not None
        try:
            self._worker.channel.send(bytes([command]))
        except ConnectionError:
            self._worker.join(self._tick)

    def _await_answer(self) -> None:
        """Until the lane answers, or its process has ended."""
        turns = self._worker.channel
        assert turns is not None
        while True:
            ready = is_ready(turns, 1.0)
            if ready and _answered(turns):
                return
            if self._worker.watch(1.0 if ready else 0.0):
                failure = self._worker.death()
                assert failure is not None
                raise LaneStopped(failure)
            self._tick()


def _answered(turns: socket.socket) -> bool:
    """False where the process has ended; one that ends with a command unread resets the connection."""
    try:
        return bool(turns.recv(1))
    except ConnectionResetError:
        return False
