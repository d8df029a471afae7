"""Trials: what came back from one solo pass or one launch, failures included."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from stepmark.records.card import CardReading, CardReadings
from stepmark.records.case import Case, Cell
from stepmark.records.environment import LoadFacts
from stepmark.records.evidence import Evidence
from stepmark.records.outcome import Failure, Outcome
from stepmark.records.record import Record
from stepmark.records.sample import Layout, Sample
from stepmark.records.settings import Isolation


class ProcessFacts(Record, frozen=True, kw_only=True):
    """The process a lane lived in."""

    pid: int
    started_by: str
    """`fork-server` or `spawn`."""
    threads: int
    """Torch's operator threads, read back after they were set."""


class SoloTrial(Record, frozen=True, kw_only=True, tag="solo"):
    """One case alone in a process of its own."""

    case: Case
    started: float
    """Seconds since the epoch."""
    seconds: float
    """Wall time of the whole pass, process start included."""
    process: ProcessFacts | None = None
    evidence: Evidence | None = None
    samples: tuple[Sample, ...] = ()
    """Plain steps: shown, never judged."""
    failure: Failure | None = None
    output: str = ""
    """The tail of what the worker printed."""

    @property
    def outcome(self) -> Outcome:
        return self.failure.outcome if self.failure else Outcome.MEASURED


class Warmup(Record, frozen=True, kw_only=True):
    """How a lane reached its steady state; the blocks are kept."""

    iterations: int
    nanoseconds: bytes
    """Packed total time of each block of `iterations` iterations."""
    settled: bool
    first: bytes = b""
    """Packed times of the very first iterations, one by one: allocation, lazy set-up, compilation."""


class FlagChange(Record, frozen=True, kw_only=True):
    """A global setting that a lane changed; it was put back before the next lane's turn."""

    name: str
    before: str
    after: str
    round: int | None = None
    """None while it was built or warmed up."""


class LaneWatch(Record, frozen=True, kw_only=True):
    """What cheap watchers saw of a lane while it was timed, from its first round to its last."""

    compilations: int = 0
    """Frames compiled or kernels tuned inside rounds."""
    first_compiled: int | None = None
    """The first such round."""
    live_bytes: bytes = b""
    """Packed: how much more memory the process uses than before the first round, after some of the lane's
    blocks; on a CPU resident memory, the shared part left out. What building anew changes does not count."""
    own_bytes: bytes = b""
    """Packed: how much of it came in the course of these blocks, which tells the lanes of a process apart."""
    card: CardReadings | None = None
    """Of an accelerator, right after some of the blocks; None where nobody asked it."""
    not_finite: tuple[str, ...] = ()
    """Weights that an optimizer had led to NaN or infinity when the lane was built anew, or ended."""
    first_not_finite: int | None = None
    """The number of rounds after which that was first seen."""


class LaneTrial(Record, frozen=True, kw_only=True):
    """One case inside one launch."""

    variant: str
    layout: Layout | None = None
    process: ProcessFacts | None = None
    warmup: Warmup | None = None
    samples: tuple[Sample, ...] = ()
    """Complete blocks up to the end or the failure."""
    rounds: bytes = b""
    """Packed number of the round of each block: lanes that fail early have fewer."""
    flag_changes: tuple[FlagChange, ...] = ()
    watch: LaneWatch = LaneWatch()
    clock_seconds: float = 0.0
    """What the clock itself adds to one iteration, measured in this process."""
    failure: Failure | None = None

    def __post_init__(self) -> None:
        blocks = len(self.rounds)
        if any(len(sample.nanoseconds) != blocks for sample in self.samples) or any(
            series and len(series) != blocks
            for sample in self.samples
            for series in (sample.host, sample.lag)
        ):
            raise ValueError(f"lane '{self.variant}' has samples that do not match its rounds")


class Role(StrEnum):
    """What a launch is for."""

    MEASURE = "measure"
    """Ratios and verdicts come from these."""
    CONFIRM = "confirm"
    """A second measurement of a cell that a sweep flagged: it must agree by itself."""
    ALONE = "alone"
    """One case without company: its level is held against its level beside the others."""


class Renewal(Record, frozen=True, kw_only=True):
    """The lanes were built anew inside a launch."""

    round: int
    """The first round of the new instances."""
    order: tuple[str, ...]
    """In which they were built."""


class LaunchActivity(Record, frozen=True, kw_only=True):
    """What the machine did during a launch, as differences of counters; None where they cannot be read."""

    stolen: float | None = None
    """Share of processor time that the hypervisor gave to others."""
    others: float | None = None
    """Cores that other processes used."""
    quota_seconds: float | None = None
    """Time in which the control group was held back by its quota."""
    throttles: int | None = None
    """Times the processor, or the accelerator, was slowed for heat or power."""
    throttle_reasons: tuple[str, ...] = ()
    megahertz: tuple[float, float] | None = None
    """The device's clock at the beginning and at the end."""
    card: tuple[CardReading, CardReading] | None = None
    """An accelerator's card when all lanes were warm, and after the last round."""


class LaunchTrial(Record, frozen=True, kw_only=True, tag="launch"):
    """All variants of a cell measured side by side, once."""

    cell: Cell
    number: int
    """Launches of a cell are counted from 0."""
    seed: str
    isolation: Isolation
    started: float
    seconds: float
    role: Role = Role.MEASURE
    build_order: tuple[str, ...] = ()
    warmup_order: tuple[str, ...] = ()
    round_orders: tuple[tuple[str, ...], ...] = ()
    """Variants in the order in which each round ran them."""
    renewals: tuple[Renewal, ...] = ()
    lanes: tuple[LaneTrial, ...] = ()
    load: LoadFacts | None = None
    """At the launch's start."""
    activity: LaunchActivity | None = None
    cut_short: bool = False
    """The launch did not come to its end: a crash took the process, or the user stopped the run."""
    output: str = ""


Trial = SoloTrial | LaunchTrial


def counting(launches: Iterable[LaunchTrial]) -> list[LaunchTrial]:
    """Of one cell's launches those that its numbers rest on: in company, and in the strictest isolation that
    any of them had, because a cell is set apart where those before it misled or failed."""
    together = [launch for launch in launches if launch.role is not Role.ALONE]
    for isolation in (Isolation.ALONE, Isolation.SEPARATE):
        apart = [launch for launch in together if launch.isolation is isolation]
        if apart:
            return apart
    return together


def crowded_out(launch: LaunchTrial, lane: LaneTrial) -> bool:
    """Whether the lane failed for want of memory on an accelerator that it shared with others."""
    return (
        lane.failure is not None
        and lane.failure.outcome is Outcome.OUT_OF_MEMORY
        and launch.cell.device != "cpu"
        and launch.isolation is not Isolation.ALONE
        and len(launch.lanes) > 1
    )
