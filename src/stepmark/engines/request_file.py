"""A request as a file without a name: how it gets from the runner to a worker, however large it is."""

from __future__ import annotations

import os
import tempfile
from typing import IO

import msgspec

from stepmark.errors import EngineError
from stepmark.measure.requests import Handed

_DECODER: msgspec.msgpack.Decoder[Handed] = msgspec.msgpack.Decoder(Handed)


def temporary_file() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise EngineError(
            f"no temporary file can be made: {error.strerror}", remedy="make room there, or set TMPDIR"
        ) from error


def written(request: Handed) -> IO[bytes]:
    """The file, to be closed by whoever asked for it."""
    file = temporary_file()
    file.write(msgspec.msgpack.encode(request))
    file.flush()
    return file


def read_request(descriptor: int) -> Handed:
    """What is in the file, which is closed."""
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        return _DECODER.decode(file.read())
