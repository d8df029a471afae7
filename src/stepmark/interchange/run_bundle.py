"""A run bundle: one run with all its trials, whole, as compressed JSON lines to carry to another store.

    first line      the head of the run
    every other     one trial: a solo pass or a launch

A reference file (published/reference_file.py) is a bundle from which much was left out; it reads as one.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator

import msgspec

from stepmark.errors import StoreError
from stepmark.records.run import FORMAT, Recording, Run
from stepmark.records.trial import LaunchTrial, SoloTrial, Trial

ENDING = ".jsonl.gz"
MAX_BYTES = 96 * 2**20
"""Unpacked: forty launches of fifty cases take a quarter of it."""
_PIECE = 2**20
_GZIP = 16 + zlib.MAX_WBITS
_RUN = msgspec.json.Decoder(Run)
_TRIAL: msgspec.json.Decoder[Trial] = msgspec.json.Decoder(Trial)


class BundleTooLarge(StoreError):
    """What is packed would unpack to more than is taken."""


def to_bundle(recording: Recording) -> bytes:
    """The bundle; the same recording always gives the same bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=6, mtime=0) as file:
        for record in (recording.run, *recording.trials):
            file.write(msgspec.json.encode(record) + b"\n")
    return packed.getvalue()


def from_bundle(data: bytes, *, max_bytes: int = MAX_BYTES) -> Recording:
    """The recording; never more than `max_bytes` are unpacked, and one line is held at a time."""
    try:
        lines = _lines(data, max_bytes)
        run = _RUN.decode(next(lines, b""))
        if run.format > FORMAT:
            raise StoreError("this bundle is of a newer stepmark", remedy="upgrade stepmark")
        trials = [_TRIAL.decode(line) for line in lines]
    except (zlib.error, EOFError, ValueError) as error:  # msgspec's errors are ValueErrors
        raise StoreError(
            f"this is no run bundle: {error}", remedy="make it anew: stepmark export RUN --format bundle"
        ) from None
    return Recording(
        run=run,
        solos=tuple(trial for trial in trials if isinstance(trial, SoloTrial)),
        launches=tuple(trial for trial in trials if isinstance(trial, LaunchTrial)),
    )


def _lines(data: bytes, max_bytes: int) -> Iterator[bytes]:
    begun: list[bytes] = []  # joined at its end: a line of many pieces would be copied with every one of them
    for piece in _unpacked(data, max_bytes):
        first, *others = piece.split(b"\n")
        begun.append(first)
        for following in others:
            if line := b"".join(begun):
                yield line
            begun = [following]
    if line := b"".join(begun):
        yield line


def _unpacked(data: bytes, max_bytes: int) -> Iterator[bytes]:
    """Piece by piece: a small file that unpacks to a huge one is noticed while it does."""
    unpacking = zlib.decompressobj(wbits=_GZIP)
    size = 0
    while not unpacking.eof:
        piece = unpacking.decompress(data, _PIECE)
        data = unpacking.unconsumed_tail
        size += len(piece)
        if size > max_bytes:
            raise BundleTooLarge(
                f"this bundle unpacks to more than {max_bytes // 2**20} MiB",
                remedy="upload a run of fewer cases or launches",
            )
        if not piece and not data and not unpacking.eof:
            raise EOFError("it ends before its end")
        yield piece
    if unpacking.unused_data:
        raise ValueError("something follows after its end")
