"""A worker's first moments: cut loose from terminal and runner, its output caught, then to work."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import fcntl
import os
import resource
import signal
import socket
import sys

from stepmark.engines.interpreter import search_current_folder
from stepmark.engines.request_file import read_request
from stepmark.measure.journal import JournalWriter

_PR_SET_PDEATHSIG = 1
_HIGH = 700
"""Descriptors are moved up here, out of the way of bench files that close the low ones; half the way to the
system's limit where that is lower."""


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent dies; where it cannot, a closed channel must
    do."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # it died before the kernel was told
            os._exit(1)


def be_a_worker(request: int, journal: int, output: int, channel: int | None, *, parent: int) -> None:
    """Never returns. Takes over the descriptors it is given."""
    status = 70
    try:
        with contextlib.suppress(PermissionError):
            os.setsid()
        die_with_parent(parent)
        _catch_output(output)
        writer = JournalWriter(journal)
        os.close(journal)
        connection = _high_socket(channel) if channel is not None else None
        asked = read_request(request)
        from stepmark.engines.worker import work

        search_current_folder()
        work(asked, writer, connection)
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        # Not sys.exit: exit handlers belong to the server this process was forked from.
        os._exit(status)


def _catch_output(output: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    # The fault handler keeps a descriptor of its own: closing 2 does not silence it.
    faulthandler.enable(file=_high(output), all_threads=True)
    os.close(output)
    os.close(nothing)


def _high(descriptor: int) -> int:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    least = _HIGH if limit == resource.RLIM_INFINITY else min(_HIGH, limit // 2)
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, least)


def _high_socket(descriptor: int) -> socket.socket:
    moved = _high(descriptor)
    os.close(descriptor)
    return socket.socket(fileno=moved)


def spawned() -> None:
    """Entry of a worker started without a fork server: parent, request, journal, output, channel."""
    parent, request, journal, output, *channel = (int(argument) for argument in sys.argv[1:])
    be_a_worker(request, journal, output, channel[0] if channel else None, parent=parent)
