"""A reference file: one run with its trials, as compressed JSON lines that need no store.

    first line      the head of the run
    every other     one trial: a solo pass or a launch

Of each lane some blocks are kept, evenly spread in time: what chooses by time and not by value keeps minimum
and median as they are. Left out is what tells about a machine and not about its speed: host name, paths,
the build of the kernel, the card's UUID, the order of rounds, and what workers printed.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from stepmark.errors import StoreError, UsageError
from stepmark.records.run import FORMAT, Recording, Run
from stepmark.records.sample import Sample
from stepmark.records.source import BuiltinSource
from stepmark.records.trial import LaneTrial, LaunchTrial, SoloTrial, Trial

BLOCKS = 40
"""Kept of each lane in each launch."""
ENDING = ".jsonl.gz"
HOST = "reference"
_RUN = msgspec.json.Decoder(Run)
_TRIAL: msgspec.json.Decoder[Trial] = msgspec.json.Decoder(Trial)
_WORD = 8
"""Bytes of a packed integer."""


def to_reference(recording: Recording, *, blocks: int = BLOCKS) -> bytes:
    """The file; the same recording always gives the same bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9, mtime=0) as file:
        for line in _lines(recording, blocks):
            file.write(line + b"\n")
    return packed.getvalue()


def from_reference(data: bytes) -> Recording:
    """The recording, with what the file keeps of it."""
    try:
        head, *lines = gzip.decompress(data).splitlines()
        run, trials = _RUN.decode(head), [_TRIAL.decode(line) for line in lines]
    except (OSError, EOFError, ValueError, msgspec.MsgspecError) as error:
        raise StoreError(
            f"this is no reference file: {error}", remedy="make it anew: stepmark export --format reference"
        ) from None
    if run.format > FORMAT:
        raise StoreError("this reference is of a newer stepmark", remedy="upgrade stepmark")
    return Recording(
        run=run,
        solos=tuple(trial for trial in trials if isinstance(trial, SoloTrial)),
        launches=tuple(trial for trial in trials if isinstance(trial, LaunchTrial)),
    )


def head_of(data: bytes) -> Run:
    """The run alone, without reading its trials."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        return _RUN.decode(file.readline())


def _lines(recording: Recording, blocks: int) -> Iterator[bytes]:
    yield msgspec.json.encode(_anonymous(recording.run))
    for solo in recording.solos:
        yield msgspec.json.encode(replace(solo, output="", process=None))
    for launch in recording.launches:
        lanes = tuple(_thinned(lane, blocks) for lane in launch.lanes)
        yield msgspec.json.encode(replace(launch, lanes=lanes, round_orders=(), output=""))


def _anonymous(run: Run) -> Run:
    """Without what others have no use for; a file of somebody's disk is no reference for anyone."""
    if not all(isinstance(source, BuiltinSource) for source in run.sources):
        raise UsageError(
            f"run {run.id} measured files of this machine: others have nothing to hold against it",
            remedy="make a reference of a run of built-in suites",
        )
    environment = run.environment
    names = tuple(outline.name for outline in run.suites)
    return replace(
        run,
        environment=replace(
            environment,
            host=replace(environment.host, hostname=HOST, os=_system(environment.host.os)),
            torch=replace(
                environment.torch,
                cards=tuple(replace(card, uuid=None) for card in environment.torch.cards),
            ),
            command=("stepmark", "run", *names),
        ),
        ceilings=None if run.ceilings is None else replace(run.ceilings, host=HOST),
    )


def _system(platform: str) -> str:
    """The system and its version, without the name of somebody's build: `Linux-6.8.0`."""
    return "-".join(platform.split("-")[:2])


def _thinned(lane: LaneTrial, blocks: int) -> LaneTrial:
    number = len(lane.rounds) // _WORD
    kept = min(number, blocks)
    places = [place * (number - 1) // max(kept - 1, 1) for place in range(kept)]
    return replace(
        lane,
        samples=tuple(_thinned_sample(sample, places) for sample in lane.samples),
        rounds=_some(lane.rounds, places),
        process=None,
    )


def _thinned_sample(sample: Sample, places: list[int]) -> Sample:
    return replace(
        sample,
        nanoseconds=_some(sample.nanoseconds, places),
        host=_some(sample.host, places),
        lag=_some(sample.lag, places),
    )


def _some(packed: bytes, places: list[int]) -> bytes:
    """The words at these places; of nothing, nothing."""
    if not packed:
        return packed
    return b"".join(packed[_WORD * place : _WORD * (place + 1)] for place in places)
