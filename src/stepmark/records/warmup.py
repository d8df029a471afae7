"""A warm-up study: the first iterations of a case in fresh processes, and what was concluded from them."""

from __future__ import annotations

from enum import StrEnum

from stepmark.records.case import Case
from stepmark.records.environment import Environment
from stepmark.records.outcome import Failure
from stepmark.records.record import Record
from stepmark.records.sample import Layout
from stepmark.records.settings import Settings
from stepmark.records.trial import ProcessFacts

FORMAT = 1
"""Version of the exported document.

1   2026-11   first
"""


# ── what was measured ───────────────────────────────────────────────────────────────────────────────


class Reading(Record, frozen=True, kw_only=True):
    """The process's gauges at one moment; all but the last count up from its start."""

    minor_faults: int = 0
    """Pages given to the process without reading a disk: new memory, or the copy of a shared page."""
    major_faults: int = 0
    """Pages that had to be read from a disk."""
    resident_bytes: int = 0
    modules: int = 0
    """Python modules imported."""
    threads: int = 0
    compilations: int = 0
    """Frames that torch.compile has compiled."""
    compile_seconds: float = 0.0
    autotune_seconds: float = 0.0
    """Spent by torch.compile on trying kernels."""
    optimizer_state_bytes: int = 0
    device_bytes: int = 0
    """Held by the accelerator's allocator."""
    device_allocations: int = 0
    """Calls of the accelerator's own allocator, below torch's cache."""
    spin_nanoseconds: int = 0
    """A fixed piece of work on the processor, timed now: its speed follows the clock frequency."""


class Iteration(Record, frozen=True, kw_only=True):
    """One iteration of a step, and what the gauges showed when it was over."""

    nanoseconds: tuple[int, ...]
    """Per phase of the layout."""
    after: Reading
    new_modules: tuple[str, ...] = ()
    """Packages of which modules were imported during it."""


class WarmupTrial(Record, frozen=True, kw_only=True):
    """The first iterations in one fresh process."""

    number: int
    """Launches are counted from 0."""
    started: float
    seconds: float
    """Wall time of the whole launch, process start included."""
    process: ProcessFacts | None = None
    layout: Layout | None = None
    before: Reading | None = None
    """The gauges when everything was built and nothing had run."""
    iterations: tuple[Iteration, ...] = ()
    """Complete ones up to the end or the failure."""
    seconds_per_fault: float | None = None
    """What a minor fault costs in this process, measured after the last iteration."""
    failure: Failure | None = None
    output: str = ""
    """The tail of what the worker printed."""


class WarmupRecording(Record, frozen=True, kw_only=True):
    """Everything one `stepmark warmup` measured."""

    case: Case
    iterations: int
    """Asked for in every launch."""
    settings: Settings
    environment: Environment
    trials: tuple[WarmupTrial, ...] = ()
    format: int = FORMAT


# ── what was concluded ──────────────────────────────────────────────────────────────────────────────


class Course(StrEnum):
    """How the level of a series goes from its beginning to its end; the closed list."""

    FLAT = "flat"
    """One level from the first value on."""
    WARMS_UP = "warms-up"
    """Slower at first, then one level."""
    SLOWS_DOWN = "slows-down"
    """Faster at first, then one level."""
    NEVER_SETTLED = "never-settled"
    """The level still changed in the last part of the series."""


class SlowStart(StrEnum):
    """Why first iterations are slow; the closed list, docs/warmup.md explains each."""

    COMPILATION = "compilation"
    AUTOTUNING = "autotuning"
    OPTIMIZER_STATE = "optimizer-state"
    PAGE_FAULTS = "page-faults"
    DEVICE_MEMORY = "device-memory"
    CLOCK_RAMP = "clock-ramp"
    LAZY_IMPORTS = "lazy-imports"
    THREADS_STARTED = "threads-started"
    UNKNOWN = "unknown"


class StartCause(Record, frozen=True, kw_only=True):
    """One cause of a slow start with its numbers: medians over the launches that showed it."""

    kind: SlowStart
    first: int
    """The first iteration it was seen in, by half of those launches at least."""
    last: int
    launches: int
    """In how many launches with a slow start it was seen."""
    amount: float
    """What the kind counts: compilations, modules, threads, faults, bytes, or how much slower the clock."""
    seconds: float | None = None
    """Of the lost time; None where no clock can tell."""
    share: float | None = None
    """Of the time lost to the slow start."""
    names: tuple[str, ...] = ()
    """Packages imported."""


class Dropped(Record, frozen=True, kw_only=True):
    """One phase after this many iterations of warm-up; medians over launches."""

    warmup: int
    num: int
    """Iterations averaged: the next ones after the warm-up."""
    mean: float
    """Seconds."""
    deviation: float
    """Population standard deviation, with n below."""
    median: float


class PhaseStart(Record, frozen=True, kw_only=True):
    """The start of one phase; seconds, medians over launches."""

    phase: str
    first: float
    """Its very first iteration."""
    steady: float | None
    """Its level once the whole has settled; None where it never does."""
    dropped: tuple[Dropped, ...]


class LaunchStart(Record, frozen=True, kw_only=True):
    """How one launch began."""

    number: int
    course: Course
    warmup: int | None
    """Iterations to drop; None where it never settled."""
    lost_seconds: float
    """What the iterations to drop took longer than as many steady ones."""


class WarmupSummary(Record, frozen=True, kw_only=True):
    """What the first iterations of a case say."""

    course: Course
    """The most frequent one over launches, never-settled if half of them are."""
    automatic: int | None
    """Iterations that automatic detection drops, the median over launches; None: it never settles."""
    automatic_range: tuple[int, int] | None
    """Over the launches that settled."""
    primary: str
    launches: tuple[LaunchStart, ...]
    phases: tuple[PhaseStart, ...]
    """The primary first."""
    curve: tuple[float, ...]
    """Seconds of the primary by iteration, median over launches."""
    lost_seconds: float
    """To the slow start, median over the launches that have one."""
    causes: tuple[StartCause, ...]
    """Those whose time is known first, the costliest first."""
