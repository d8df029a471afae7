"""A profile: traced iterations of a case, what profiling them cost, and what was concluded from both."""

from __future__ import annotations

from stepmark.records.case import Case
from stepmark.records.environment import Environment
from stepmark.records.estimate import Estimate
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


class Spans(Record, frozen=True, kw_only=True):
    """Stretches of time, one packed column per property, all of the same length."""

    names: bytes = b""
    """Places in the trace's list of names."""
    starts: bytes = b""
    """Nanoseconds since the first phase began."""
    ends: bytes = b""
    tracks: bytes = b""
    """The thread or stream each was on, numbered."""


class Allocations(Record, frozen=True, kw_only=True):
    """Memory taken and given back on the case's device, in order; packed."""

    times: bytes = b""
    """Nanoseconds since the first phase began."""
    changes: bytes = b""
    """Bytes; negative where they were given back."""


class Trace(Record, frozen=True, kw_only=True):
    """What the profiler saw of some iterations."""

    names: tuple[str, ...]
    phases: Spans
    """Every phase of every iteration, on the host; on an accelerator up to the end of its kernels."""
    operations: Spans
    """torch's operators, on the host, the nested ones too."""
    kernels: Spans
    """What ran on the accelerator, copies included."""
    launched_by: bytes
    """For each kernel the place of the operation that launched it, packed; -1 where none did."""
    allocations: Allocations
    held_bytes: int = 0
    """On an accelerator when tracing began; a CPU's allocator does not tell."""


class TracingTrial(Record, frozen=True, kw_only=True):
    """The traced iterations, in a process of their own."""

    started: float
    seconds: float
    """Wall time of the whole pass, process start included."""
    process: ProcessFacts | None = None
    layout: Layout | None = None
    trace: Trace | None = None
    failure: Failure | None = None
    output: str = ""
    """The tail of what the worker printed."""


class CostRound(Record, frozen=True, kw_only=True):
    """One block without the profiler and one with it, one right after the other."""

    unprofiled: tuple[int, ...]
    """Nanoseconds per phase of the layout, summed over the block's iterations."""
    profiled: tuple[int, ...]
    profiled_first: bool
    """Drawn anew for every round."""


class WeighingTrial(Record, frozen=True, kw_only=True):
    """What profiling costs, in one fresh process."""

    number: int
    """Launches are counted from 0."""
    started: float
    seconds: float
    process: ProcessFacts | None = None
    layout: Layout | None = None
    iterations: tuple[int, ...] = ()
    """Per block, for each phase of the layout."""
    rounds: tuple[CostRound, ...] = ()
    failure: Failure | None = None
    output: str = ""


class CostRecording(Record, frozen=True, kw_only=True):
    """What profiling costs one case, launch by launch."""

    case: Case
    rounds: int
    """Asked for in every launch."""
    settings: Settings
    launches: tuple[WeighingTrial, ...] = ()


class ProfileRecording(Record, frozen=True, kw_only=True):
    """Everything one `stepmark profile` measured."""

    case: Case
    iterations: int
    """Traced."""
    environment: Environment
    tracing: TracingTrial
    cost: CostRecording
    trace_file: str | None = None
    """Where the trace was written for Perfetto or Chrome."""
    format: int = FORMAT


# ── what was concluded ──────────────────────────────────────────────────────────────────────────────


class OperationTime(Record, frozen=True, kw_only=True):
    """All calls of one operation in one phase of one iteration."""

    name: str
    calls: int
    self_seconds: float
    """Without the operations it calls."""
    total_seconds: float
    """With them; calls inside a call of the same name are counted once."""
    share: float
    """Of the phase's time, its own time only."""
    is_product: bool
    """A matrix product, by the closed list of analysis/profile_products.py."""


class Idle(Record, frozen=True, kw_only=True):
    """Time of a phase in which nothing ran, in one iteration."""

    gaps: int
    longest_seconds: float
    seconds: float
    share: float
    """Of the phase's time."""


class PhaseProfile(Record, frozen=True, kw_only=True):
    """One phase under the profiler, in the iteration in which it took the median time."""

    phase: str
    seconds: float
    """The profiled time, which is longer than the phase really takes."""
    products_share: float
    """Of the phase's time, in matrix products."""
    idle: Idle
    """No operation of torch ran on the host."""
    device_idle: Idle | None
    """No kernel ran on the accelerator; None without one."""
    operations: tuple[OperationTime, ...]
    """The longest own time first: on the host, or, where there is an accelerator, of their kernels."""


class MemoryPoint(Record, frozen=True, kw_only=True):
    """How much more memory was in use at one moment than at the iteration's start."""

    seconds: float
    """Since the iteration's start."""
    num_bytes: int


class PhaseMemory(Record, frozen=True, kw_only=True):
    """Memory in one phase of the last traced iteration, above the iteration's start."""

    phase: str
    begin_seconds: float
    end_seconds: float
    peak_bytes: int
    held_bytes: int
    """When the phase was over."""


class MemoryProfile(Record, frozen=True, kw_only=True):
    """Memory through the last traced iteration."""

    timeline: tuple[MemoryPoint, ...]
    """From one change to the next."""
    phases: tuple[PhaseMemory, ...]
    peak: MemoryPoint
    peak_phase: str | None
    peak_operation: str | None
    """What took the memory that made the peak; None where no operation ran."""


class PhaseCost(Record, frozen=True, kw_only=True):
    """One phase or total without the profiler and with it; per iteration."""

    phase: str
    unprofiled: Estimate
    profiled: Estimate
    ratio: Estimate
    """Profiled over unprofiled, paired by round, the interval over launches."""


class CaseCost(Record, frozen=True, kw_only=True):
    """What profiling costs one case."""

    case: Case
    phases: tuple[PhaseCost, ...]
    """In the layout's order, then the totals; empty where no launch came to its end."""
    failure: Failure | None = None
    """Of the first launch that failed."""


class ProfileSummary(Record, frozen=True, kw_only=True):
    """What a profile says."""

    on_device: bool
    """Operations are timed by their kernels."""
    phases: tuple[PhaseProfile, ...]
    memory: MemoryProfile
    cost: tuple[PhaseCost, ...]
    """In the layout's order, then the totals; empty where no launch came to its end."""
