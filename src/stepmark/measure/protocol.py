"""The protocol between runner and worker: requests (requests.py), and the events that answer them.

A worker is given one Request and writes Events to a journal in memory it shares with the runner (journal.py);
standard input, output and error are not part of it, so nothing a bench file prints, closes or redirects can
disturb it. Lanes in processes of their own also take commands (command.py), over a socket of their own.

Version history
1   2026-11   first
"""

from __future__ import annotations

from stepmark.measure.requests import VERSION
from stepmark.records.card import CardReading
from stepmark.records.ceilings import Ceilings
from stepmark.records.environment import TorchFacts
from stepmark.records.evidence import Evidence
from stepmark.records.outcome import Failure, Stage
from stepmark.records.outline import SuiteOutline
from stepmark.records.profile import CostRound, Trace
from stepmark.records.record import Record
from stepmark.records.sample import Layout, Sample
from stepmark.records.trial import FlagChange, Warmup
from stepmark.records.warmup import Iteration, Reading


class Began(Record, frozen=True, kw_only=True, tag="began"):
    """The process is up."""

    pid: int
    threads: int
    """Torch's operator threads, read back after they were set."""
    spent_before: float = 0.0
    """Seconds of processor time that it took to stand by: they belong to no trial."""
    version: int = VERSION


class Described(Record, frozen=True, kw_only=True, tag="described"):
    """What the sources define."""

    suites: tuple[SuiteOutline, ...]
    torch: TorchFacts
    device: str
    """`auto` resolved."""


class Refused(Record, frozen=True, kw_only=True, tag="refused"):
    """The sources cannot be used: the user's mistake, in the words of an error."""

    problem: str
    remedy: str
    detail: str = ""


class Entered(Record, frozen=True, kw_only=True, tag="entered"):
    """About to do something that may end the process: names the culprit if it does."""

    stage: Stage
    variant: str | None = None
    round: int | None = None


class Built(Record, frozen=True, kw_only=True, tag="built"):
    variant: str
    layout: Layout


class Warmed(Record, frozen=True, kw_only=True, tag="warmed"):
    variant: str
    warmup: Warmup
    iterations: tuple[int, ...]
    """Block size per phase from now on."""
    clock_seconds: float


class RoundBegan(Record, frozen=True, kw_only=True, tag="round"):
    number: int
    order: tuple[str, ...]


class RenewalBegan(Record, frozen=True, kw_only=True, tag="renewal"):
    """All lanes are built anew before the round of that number."""

    number: int
    order: tuple[str, ...]


class BlockDone(Record, frozen=True, kw_only=True, tag="block"):
    variant: str
    round: int
    nanoseconds: tuple[int, ...]
    """Totals per phase of the layout."""
    host: tuple[int, ...] = ()
    """The host's time for the same; empty where it does the work itself."""
    lag: tuple[int, ...] = ()
    """How far the device was behind the host at each phase's end; empty likewise."""
    compilations: int = 0
    """Frames compiled or kernels tuned in its course."""
    grown: int | None = None
    """Bytes that the process has more than at the lane's last reading; None where none was taken."""
    own: int | None = None
    """Bytes that the block added."""
    card: CardReading | None = None
    """Right after the block; None where none was taken."""


class Paced(Record, frozen=True, kw_only=True, tag="paced"):
    """How fast the device runs at this moment: once when all lanes are warm, once after the last round."""

    megahertz: float | None = None
    slowed_by: tuple[str, ...] = ()
    """What holds its clock down, for heat or power."""
    card: CardReading | None = None
    """Of an accelerator."""


class FlagsChanged(Record, frozen=True, kw_only=True, tag="flags"):
    variant: str
    change: FlagChange


class Spoiled(Record, frozen=True, kw_only=True, tag="spoiled"):
    """When the lane was built anew or ended some of its weights were not finite."""

    variant: str
    round: int
    """The first of the new instance, or the number of rounds."""
    weights: tuple[str, ...]


class LaneFailed(Record, frozen=True, kw_only=True, tag="failed"):
    """The lane stopped; variant is None when the whole process did."""

    variant: str | None
    failure: Failure


class SoloDone(Record, frozen=True, kw_only=True, tag="solo-done"):
    evidence: Evidence
    samples: tuple[Sample, ...]


class Ready(Record, frozen=True, kw_only=True, tag="ready"):
    """Everything is built, nothing has run."""

    layout: Layout
    reading: Reading


class IterationDone(Record, frozen=True, kw_only=True, tag="iteration"):
    iteration: Iteration


class FaultsWeighed(Record, frozen=True, kw_only=True, tag="faults"):
    seconds_per_fault: float


class Traced(Record, frozen=True, kw_only=True, tag="traced"):
    layout: Layout
    trace: Trace


class ScalesReady(Record, frozen=True, kw_only=True, tag="scales"):
    """Warm, with and without the profiler: rounds begin."""

    layout: Layout
    iterations: tuple[int, ...]
    """Block size per phase."""


class CostRoundDone(Record, frozen=True, kw_only=True, tag="cost-round"):
    round: CostRound


class CeilingsMeasured(Record, frozen=True, kw_only=True, tag="ceilings-measured"):
    ceilings: Ceilings


class Finished(Record, frozen=True, kw_only=True, tag="finished"):
    """The worker did all it was asked."""

    modules: tuple[str, ...] = ()
    """Imported on the way: the fork server imports them too, so that the next worker need not."""
    path: tuple[str, ...] = ()
    """The import path they were found on."""
    descendants_seconds: float = 0.0
    """Processor time of processes it started that still live: the system does not count it as its own."""


Event = (
    Began
    | Described
    | Refused
    | Entered
    | Built
    | Warmed
    | RoundBegan
    | RenewalBegan
    | BlockDone
    | Paced
    | FlagsChanged
    | Spoiled
    | LaneFailed
    | SoloDone
    | Ready
    | IterationDone
    | FaultsWeighed
    | Traced
    | ScalesReady
    | CostRoundDone
    | CeilingsMeasured
    | Finished
)
