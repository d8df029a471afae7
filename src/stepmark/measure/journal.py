"""The journal: events of one worker in memory it shares with the runner.

A mapped file that neither has a name nor needs a descriptor once mapped: a bench file may close every
descriptor, redirect every stream and die in any way, and what was committed is still there for the runner.
Writing wakes nobody, so that reporting a block does not disturb the next one.

    bytes 0-7     how many bytes of frames are committed
    from 8 on     frames: length (4 bytes), crc32 of the body (4 bytes), body (MessagePack)
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import tempfile
import zlib

import msgspec

from stepmark.measure.protocol import Event

CAPACITY = 64 << 20
"""Address space, not memory: pages come into being as they are written."""

_HEAD = struct.Struct("<Q")
_FRAME = struct.Struct("<II")


class JournalFull(Exception):
    """The worker reported more than a journal holds."""


class NotTheWorker(Exception):
    """A child that the bench file forked and let run on into our code wants to report as well."""


def new_journal_file(capacity: int = CAPACITY) -> int:
    """The descriptor of an unnamed file to be mapped by both sides."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("stepmark-journal", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    else:  # pragma: no cover - other platforms than Linux
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, capacity)
    if hasattr(fcntl, "F_ADD_SEALS"):  # to read what a worker has cut off would end the runner: SIGBUS
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return descriptor


class JournalWriter:
    """The worker's side: appends events."""

    def __init__(self, descriptor: int) -> None:
        self._map = mmap.mmap(descriptor, 0)
        self._end = _HEAD.size
        self._process: int | None = None
        """Who has reported first."""
        self._encode = msgspec.msgpack.Encoder().encode

    def append(self, event: Event) -> None:
        """Commit one event: the body first, the length that makes it visible last."""
        self._process = self._process or os.getpid()
        if self._process != os.getpid():
            raise NotTheWorker("a forked child has no say in what its parent measures")
        body = self._encode(event)
        start = self._end + _FRAME.size
        stop = start + len(body)
        if stop > len(self._map):
            raise JournalFull(f"no room for {len(body)} more bytes")
        self._map[start:stop] = body
        _FRAME.pack_into(self._map, self._end, len(body), zlib.crc32(body))
        self._end = stop
        _HEAD.pack_into(self._map, 0, stop - _HEAD.size)


class JournalReader:
    """The runner's side: yields the committed events it has not yet seen."""

    def __init__(self, descriptor: int) -> None:
        self._map = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
        self._position = _HEAD.size
        self._decode = msgspec.msgpack.Decoder(Event).decode

    @property
    def committed(self) -> int:
        """Bytes of frames so far: grows with every sign of life."""
        return int(_HEAD.unpack_from(self._map, 0)[0])

    def read(self) -> list[Event]:
        """New events; stops at the first frame that does not check out (a worker gone wild in memory)."""
        events: list[Event] = []
        end = min(self.committed + _HEAD.size, len(self._map))
        while self._position + _FRAME.size <= end:
            length, check = _FRAME.unpack_from(self._map, self._position)
            start = self._position + _FRAME.size
            body = self._map[start : start + length]
            if start + length > end or zlib.crc32(body) != check:
                break
            try:
                events.append(self._decode(body))
            except msgspec.DecodeError:  # nothing but zeros also has the crc of nothing
                break
            self._position = start + length
        return events

    def close(self) -> None:
        self._map.close()
