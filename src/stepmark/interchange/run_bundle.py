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
from msgspec.structs import replace

from stepmark.errors import StoreError
from stepmark.records.run import FORMAT, Recording, Run
from stepmark.records.trial import LaunchTrial, SoloTrial, Trial

ENDING = ".jsonl.gz"
MAX_BYTES = 96 * 2**20
"""Unpacked: forty launches of fifty cases take a quarter of it."""
MAX_VALUES = 2**20
"""Numbers, texts and records in it, orders of rounds left out: in memory a record takes many times the size
of its text. Runs have three hundred or so a trial."""
MAX_LINE_VALUES = 2**18
"""The same of one line, orders included: a hundred lanes and two thousand rounds."""
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
        head = next(lines, b"")
        num_values = _num_values(head)
        run = _RUN.decode(head)
        if run.format > FORMAT:
            raise StoreError("this bundle is of a newer stepmark", remedy="upgrade stepmark")
        trials: list[Trial] = []
        for line in lines:
            num_values += _num_values(line)
            trials.append(_TRIAL.decode(line))
            if isinstance(launch := trials[-1], LaunchTrial):
                num_values -= sum(len(order) + 1 for order in launch.round_orders)
                trials[-1] = _with_each_order_once(launch)
            if num_values > MAX_VALUES:
                raise _too_many()
    except (zlib.error, EOFError, ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise StoreError(
            f"this is no run bundle: {error}", remedy="make it anew: stepmark export RUN --format bundle"
        ) from None
    return Recording(
        run=run,
        solos=tuple(trial for trial in trials if isinstance(trial, SoloTrial)),
        launches=tuple(trial for trial in trials if isinstance(trial, LaunchTrial)),
    )


def _num_values(line: bytes) -> int:
    """At most so many values are in a line of JSON; to be asked before it is read."""
    number = line.count(b",") + line.count(b"[") + line.count(b"{")
    if number > MAX_LINE_VALUES:
        raise _too_many()
    return number


def _with_each_order_once(launch: LaunchTrial) -> LaunchTrial:
    """A few orders come hundreds of times, and are read as tuples of their own every time."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    return replace(
        launch, round_orders=tuple(known.setdefault(order, order) for order in launch.round_orders)
    )


def _too_many() -> BundleTooLarge:
    return BundleTooLarge(
        f"this bundle has more than {MAX_VALUES} values, or {MAX_LINE_VALUES} in one trial",
        remedy="upload a run of fewer cases or launches",
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
