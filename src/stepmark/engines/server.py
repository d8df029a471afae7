"""The fork server seen from the runner: what it is asked, what it says, how it ended."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence

from stepmark.engines.control import ControlChannel, Message, is_ready
from stepmark.engines.interpreter import interpreter
from stepmark.measure.failures import signal_name

_SERVER = "from stepmark.engines.forkserver import main; main()"
_TAIL = 4000
"""Characters of its last words that are kept."""


class ServerGone(Exception):
    """The server has ended: by itself, or because it did not answer."""

    def __init__(self, how: str, words: str) -> None:
        super().__init__(how)
        self.how = how
        self.words = words


class Server:
    """One fork server from start to end. Once it has gone, every verb says so."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        # A file, not a pipe: whatever imported modules print must never block the server.
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        # A session of its own: Ctrl-C reaches the runner, which decides what happens to the workers.
        self._process = subprocess.Popen(
            interpreter(_SERVER, theirs.fileno(), os.getpid()),
            pass_fds=[theirs.fileno()],
            env=dict(environment),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._words,
        )
        theirs.close()
        self._channel = ControlChannel(ours)
        self._gone: ServerGone | None = None
        self.pid = self._process.pid
        self.has_answered = False

    def ask(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        """Send a message."""
        if self._gone is not None:
            raise self._gone
        try:
            self._channel.send(message, descriptors)
        except ConnectionError:
            raise self._end() from None

    def hear(self, wait: float) -> Message | None:
        """Its next message, or None if there is none within `wait` seconds; sleeps meanwhile."""
        if self._gone is not None:
            raise self._gone
        if not is_ready(self._channel, wait):
            return None
        received = self._channel.receive()
        if received is None:
            raise self._end()
        self.has_answered = True
        return received[0]

    def give_up(self, why: str) -> ServerGone:
        """End it without asking; to be raised."""
        self._process.kill()
        return self._end(why)

    def close(self) -> None:
        """It kills its workers and leaves."""
        self._channel.close()
        self._wait()
        self._words.close()

    def _end(self, why: str | None = None) -> ServerGone:
        """See how it ended, and what it had to say."""
        self._channel.close()
        status = self._wait()
        ended = f"killed by {signal_name(-status)}" if status < 0 else f"it left with exit code {status}"
        self._words.seek(0)
        words = self._words.read().decode(errors="replace")[-_TAIL:]
        self._gone = ServerGone(why or ended, words)
        return self._gone

    def _wait(self) -> int:
        try:
            return self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
