"""The control channel between runner and fork server: small typed messages, bulky things as descriptors."""

from __future__ import annotations

import array
import select
import socket
from collections.abc import Sequence

import msgspec

from stepmark.records.record import Record


class Preload(Record, frozen=True, kw_only=True, tag="preload"):
    """Import these modules, so that workers find them imported; of `module:function` call the function."""

    modules: tuple[str, ...]
    path: tuple[str, ...] = ()


class Start(Record, frozen=True, kw_only=True, tag="start"):
    """Fork a worker; comes with the descriptors of request, journal, output and, to speak to it, a socket."""

    stands_by: bool = False
    """It has nothing to do yet."""


class CalledUp(Record, frozen=True, kw_only=True, tag="called-up"):
    """A worker that stood by has been given something to do."""

    pid: int


class Kill(Record, frozen=True, kw_only=True, tag="kill"):
    """Send a signal to a worker and everything it started."""

    pid: int
    signal: int


class Preloaded(Record, frozen=True, kw_only=True, tag="preloaded"):
    fork_is_safe: bool


class Started(Record, frozen=True, kw_only=True, tag="started"):
    pid: int


class Exited(Record, frozen=True, kw_only=True, tag="exited"):
    pid: int
    status: int
    """Exit code, or the negative number of the signal."""


Message = Preload | Start | CalledUp | Kill | Preloaded | Started | Exited

_MOST_BYTES = 1 << 20
_MOST_DESCRIPTORS = 8


class ControlChannel:
    """Messages over a socket that keeps their boundaries."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(Message)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        rights = (
            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        )
        self._socket.sendmsg([self._encoder.encode(message)], rights)

    def receive(self) -> tuple[Message, list[int]] | None:
        """The next message with its descriptors; None when the other side is gone."""
        try:
            body, descriptors, _, _ = socket.recv_fds(self._socket, _MOST_BYTES, _MOST_DESCRIPTORS)
        except ConnectionResetError:
            return None
        return (self._decoder.decode(body), descriptors) if body else None

    def close(self) -> None:
        self._socket.close()


def is_ready(file: socket.socket | ControlChannel, seconds: float) -> bool:
    """Whether there is something to read within this time. By poll: select refuses descriptors from 1024 on,
    which a program with many files open hands out."""
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(seconds * 1000.0))
