"""The machine as a measurement meets it: what it is made of, and what else happens on it right now."""

from __future__ import annotations

from stepmark.records.card import CardFacts
from stepmark.records.record import Record


class BusyProcess(Record, frozen=True, kw_only=True):
    """Another process that used the processor while it was watched."""

    pid: int
    name: str
    cores: float
    """Cores it kept busy."""


class ActivityFacts(Record, frozen=True, kw_only=True):
    """What happened on the machine during a short watch; None is what could not be read."""

    seconds: float
    load_1m: float | None = None
    busy: tuple[BusyProcess, ...] | None = None
    """Other processes, the busiest first."""
    steal: float | None = None
    """Share of the processor's time that the hypervisor gave to others."""
    swapped_pages: int | None = None
    """In and out."""
    throttles: int | None = None
    """Times that heat or power slowed a core."""


class ProcessorFacts(Record, frozen=True, kw_only=True):
    """The processor, as far as the system shows it."""

    num_cores: int | None = None
    """Online, as the system counts them: hardware threads."""
    num_usable: int | None = None
    """Those this process may run on."""
    siblings: tuple[tuple[int, ...], ...] | None = None
    """Groups of usable cores that are threads of one physical core."""
    governors: tuple[str, ...] | None = None
    """Each name once."""
    boost: bool | None = None
    mhz: float | None = None
    """Of the fastest core, read while one was at work."""
    max_mhz: float | None = None
    hypervisor: bool | None = None


class HeatFacts(Record, frozen=True, kw_only=True):
    """How warm the processor is."""

    celsius: float | None = None
    """At its hottest sensor."""
    critical_celsius: float | None = None
    throttles: int | None = None
    """Since the machine started."""


class QuotaFacts(Record, frozen=True, kw_only=True):
    """The processor time that a container is given in each period."""

    cores: float | None = None
    """None: as much as there is."""
    period_seconds: float | None = None
    num_periods: int | None = None
    num_throttled: int | None = None
    """Periods in which the time ran out."""


class MemoryFacts(Record, frozen=True, kw_only=True):
    """Memory settings that change speed."""

    swap_used_bytes: int | None = None
    huge_pages: str | None = None
    """`always`, `madvise` or `never`."""


class ClockFacts(Record, frozen=True, kw_only=True):
    """The clock that times everything."""

    source: str | None
    """The kernel's name for it."""
    resolution: float
    """Seconds: the smallest difference seen between two readings."""
    cost: float
    """Seconds that one reading takes."""


class SoftwareFacts(Record, frozen=True, kw_only=True):
    """Settings of the software around a measurement."""

    debug_python: bool
    variables: tuple[tuple[str, str], ...]
    """Environment variables known to change torch's speed, where set."""


class GpuProcess(Record, frozen=True, kw_only=True):
    """A process that computes on a GPU."""

    pid: int
    name: str
    used_bytes: int | None = None


class GpuCard(Record, frozen=True, kw_only=True):
    """One GPU; None is what could not be read."""

    name: str
    mhz: float | None = None
    max_mhz: float | None = None
    celsius: float | None = None
    slowed_by: tuple[str, ...] | None = None
    """What holds its clock down, idleness left out."""
    processes: tuple[GpuProcess, ...] | None = None
    memory_mhz: float | None = None
    watts: float | None = None
    facts: CardFacts | None = None
    """What does not change: driver, UUID, memory, error correction, limits."""


class JitterFacts(Record, frozen=True, kw_only=True):
    """What a fixed piece of work, timed again and again on one core, shows of the machine's own unrest."""

    num_slices: int
    fastest: float
    """Seconds of the fastest slice."""
    slow: float
    """Share of slices slower than 1.1 times the fastest."""
    very_slow: float
    """Share of slices slower than 1.5 times the fastest."""
    num_gaps: int
    """Slices in which the core was taken away for a millisecond or more."""
    longest_gap: float
    """Seconds."""
    seconds: float
    """Of the whole probe."""
    period: float | None = None
    """Seconds between gaps, where they come at regular intervals."""


class MachineFacts(Record, frozen=True, kw_only=True):
    """Everything the doctor looks at."""

    activity: ActivityFacts
    processor: ProcessorFacts
    heat: HeatFacts
    quota: QuotaFacts | None
    """None where control groups cannot be read."""
    memory: MemoryFacts
    clock: ClockFacts
    software: SoftwareFacts
    on_battery: bool | None
    gpus: tuple[GpuCard, ...] | None
    """Empty where there is none; None where they cannot be asked."""
    jitter: JitterFacts
