"""Results: what one comparison of the study leaves behind, one line of the raw file each."""

from __future__ import annotations

from enum import StrEnum

from stepmark.records.environment import LoadFacts
from stepmark.records.record import Record
from stepmark.records.verdict import VerdictKind

OURS = "stepmark"
SEPARATE = "stepmark-separate"


class Load(StrEnum):
    QUIET = "quiet"
    """The study loads the machine with nothing but the comparison."""
    BURSTS = "bursts"
    """A neighbour on the same cores, busy for 1 to 8 s, idle for 1 to 8 s."""


class Condition(Record, frozen=True, kw_only=True):
    """Which tool compares what, and under which load."""

    tool: str
    workload: str
    threads: int
    load: Load
    effect: float = 0.0
    """The slowdown wanted, as a fraction. A peer's visit has identical sides beside the slowed one."""

    @property
    def id(self) -> str:
        return f"{self.tool}/{self.workload}/{self.threads}/{self.load}/{self.effect:g}"


class Session(Record, frozen=True, kw_only=True, tag="session"):
    """One call of `measure`: the machine and the software behind the lines that follow it."""

    id: str
    started: float
    """Seconds since the epoch."""
    cpu: str
    cores: int
    memory_bytes: int
    os: str
    versions: dict[str, str]
    seconds: float
    """Of measuring, for one comparison of two sides."""
    jobs: int
    seed: int


class Surroundings(Record, frozen=True, kw_only=True):
    """When and where a comparison ran, and how busy the machine was."""

    session: str
    round: int
    started: float
    seconds: float
    """Wall time of all of it, starting processes and importing torch included."""
    before: LoadFacts
    after: LoadFacts
    cores: tuple[int, ...]
    """The logical cores it was pinned to."""


class Launches(Record, frozen=True, kw_only=True):
    """What the launches of one of our comparisons measured, one value a launch."""

    centres: tuple[float, ...]
    """Median over rounds of the log-ratio."""
    rounds: tuple[int, ...]
    spreads: tuple[float, ...]
    """Standard deviation of the log-ratio over rounds, by the median absolute deviation."""
    levels: tuple[float, ...]
    """Median time of the base, in seconds."""
    seconds: tuple[float, ...]
    """Wall time of the launch."""


class Measured(Record, frozen=True, kw_only=True):
    """What a run of stepmark found, and what its verdict can be computed from again."""

    turns: int
    turn: float | None = None
    """The price of one relative to a call, measured right before; None of identical sides."""
    stopping: bool
    """Whether it was allowed to stop early, as the product does."""
    most: int
    """The most launches it might have made."""
    margin: float
    confidence: float
    verdict: VerdictKind
    point: float
    low: float
    high: float
    measuring: float
    """Seconds from the first solo pass to the last launch."""
    set_apart: bool
    """Whether the run itself gave each side a process of its own, because company changed a level."""
    launches: Launches


class Ours(Record, frozen=True, kw_only=True, tag="ours"):
    """One comparison by stepmark."""

    condition: Condition
    surroundings: Surroundings
    measured: Measured


class Side(Record, frozen=True, kw_only=True):
    """One run of a peer: a fresh process on one side of a comparison. Times in seconds per call."""

    effect: float
    turns: int
    minimum: float
    median: float
    mean: float
    num: int
    """Values behind the statistics."""
    measuring: float
    """Seconds of measuring and warming up, without starting and importing."""
    values: tuple[float, ...] = ()
    """The tool's own values, where its rule needs them."""


class Visit(Record, frozen=True, kw_only=True, tag="visit"):
    """Sides run by a peer right after one another; neighbours are compared."""

    condition: Condition
    surroundings: Surroundings
    sides: tuple[Side, ...]


class Trouble(Record, frozen=True, kw_only=True, tag="trouble"):
    """A comparison that came to nothing: counted, never repeated."""

    condition: Condition
    round: int
    message: str


Result = Ours | Visit | Trouble
Line = Session | Result


def round_of(result: Result) -> int:
    return result.round if isinstance(result, Trouble) else result.surroundings.round


def short(value: float) -> float:
    """Seven digits: more than any clock here resolves, half the size in the raw file."""
    return float(f"{value:.7g}")
