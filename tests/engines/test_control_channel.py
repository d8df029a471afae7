"""Waiting for something to read, also where descriptors have large numbers."""

from __future__ import annotations

import fcntl
import socket

from stepmark.engines.control import is_ready


def test_something_to_read_is_seen_and_nothing_is_waited_for() -> None:
    here, there = socket.socketpair()
    with here, there:
        assert not is_ready(here, 0.0)
        there.send(b"x")
        assert is_ready(here, 0.0)


def test_descriptors_beyond_what_select_takes() -> None:
    here, there = socket.socketpair()
    with here, there:
        high = socket.socket(fileno=fcntl.fcntl(here, fcntl.F_DUPFD_CLOEXEC, 2000))
        with high:
            assert high.fileno() >= 2000
            there.send(b"x")
            assert is_ready(high, 0.0)


def test_a_closed_end_is_ready_too() -> None:
    here, there = socket.socketpair()
    with here:
        there.close()
        assert is_ready(here, 0.0)
