"""Requests: what a worker is asked, one of these in its life; typed and versioned."""

from __future__ import annotations

from stepmark.records.case import Case
from stepmark.records.record import Record
from stepmark.records.settings import Settings
from stepmark.records.source import Source

VERSION = 1
"""Of requests and of the events that answer them (protocol.py, with its history)."""


class Describe(Record, frozen=True, kw_only=True, tag="describe"):
    """Import the sources and say what they define."""

    sources: tuple[Source, ...]
    device: str
    threads: int | None
    version: int = VERSION


class Solo(Record, frozen=True, kw_only=True, tag="solo"):
    """One case alone."""

    source: Source
    case: Case
    settings: Settings
    seed: str
    version: int = VERSION


class Launch(Record, frozen=True, kw_only=True, tag="launch"):
    """All lanes of a cell in this process."""

    source: Source
    cases: tuple[Case, ...]
    settings: Settings
    seed: str
    version: int = VERSION


class LaneAlone(Record, frozen=True, kw_only=True, tag="lane"):
    """One lane in this process, driven by commands."""

    source: Source
    case: Case
    settings: Settings
    seed: str
    version: int = VERSION


class FirstIterations(Record, frozen=True, kw_only=True, tag="first-iterations"):
    """The first iterations of one case alone, one by one, with the process's gauges."""

    source: Source
    case: Case
    iterations: int
    settings: Settings
    seed: str
    version: int = VERSION


class TakeTrace(Record, frozen=True, kw_only=True, tag="trace"):
    """Some iterations of one case alone under the profiler."""

    source: Source
    case: Case
    iterations: int
    settings: Settings
    seed: str
    trace_file: str | None = None
    """Where the trace is to be written: absolute."""
    nvtx: bool = False
    """Put NVTX ranges around the phases, where the device knows them."""
    version: int = VERSION


class WeighProfiler(Record, frozen=True, kw_only=True, tag="weigh-profiler"):
    """Blocks of one case alone, with the profiler and without it in turn."""

    source: Source
    case: Case
    rounds: int
    settings: Settings
    seed: str
    version: int = VERSION


class MeasureCeilings(Record, frozen=True, kw_only=True, tag="ceilings"):
    """The best rates of a device, with nothing of the user's around."""

    device: str
    threads: int | None
    version: int = VERSION


class StandBy(Record, frozen=True, kw_only=True, tag="stand-by"):
    """Make the device ready, and wait for the request itself, which comes over the socket."""

    device: str
    version: int = VERSION


Request = Describe | Solo | Launch | LaneAlone | FirstIterations | TakeTrace | WeighProfiler | MeasureCeilings
Handed = Request | StandBy
"""To a worker when it starts."""
