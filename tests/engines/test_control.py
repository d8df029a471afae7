"""The control channel: messages keep their boundaries and bring descriptors along."""

from __future__ import annotations

import os
import socket

import pytest

from stepmark.engines.control import ControlChannel, Exited, Kill, Message, Preload, Preloaded, Start, Started

MESSAGES: list[Message] = [
    Preload(modules=tuple(f"package.module_{number}" for number in range(5000)), path=("/a", "/b")),
    Start(),
    Kill(pid=12, signal=9),
    Preloaded(fork_is_safe=False),
    Started(pid=3),
    Exited(pid=3, status=-11),
]


@pytest.fixture
def ends() -> tuple[ControlChannel, ControlChannel]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return ControlChannel(ours), ControlChannel(theirs)


def test_messages_arrive_whole_and_in_order(ends: tuple[ControlChannel, ControlChannel]) -> None:
    ours, theirs = ends
    for message in MESSAGES:
        ours.send(message)
        assert theirs.receive() == (message, [])
    ours.close()
    assert theirs.receive() is None
    theirs.close()


def test_descriptors_come_along(ends: tuple[ControlChannel, ControlChannel]) -> None:
    ours, theirs = ends
    read, write = os.pipe()
    ours.send(Start(), [write])
    received = theirs.receive()
    assert received is not None
    message, (copy,) = received
    assert message == Start()
    os.write(copy, b"through the copy")
    assert os.read(read, 100) == b"through the copy"
    for descriptor in (read, write, copy):
        os.close(descriptor)
    ours.close()
    theirs.close()
