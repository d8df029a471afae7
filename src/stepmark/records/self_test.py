"""A self-test: what stepmark says on this machine about things whose truth is known."""

from __future__ import annotations

from stepmark.records.diagnosis import Diagnosis
from stepmark.records.estimate import Estimate
from stepmark.records.record import Record
from stepmark.records.verdict import VerdictKind


class Price(Record, frozen=True, kw_only=True):
    """What an empty turn after a workload's call costs, measured with a large number of them."""

    workload: str
    turns: int
    ratio: Estimate
    """The call with the turns over the call without."""

    @property
    def per_turn(self) -> float:
        """As a share of the call's time."""
        return (self.ratio.point - 1.0) / self.turns


class Comparison(Record, frozen=True, kw_only=True):
    """A workload against itself with so many empty turns after each call."""

    workload: str
    dose: float
    """The slowdown asked for: 0.02 for 2 %, 0 for identical code."""
    turns: int
    counted: float
    """The slowdown that the turns make: their number times the price of one."""
    kind: VerdictKind
    ratio: Estimate | None
    centres: tuple[float, ...]
    """The logarithm of the ratio in each launch."""
    launch_seconds: tuple[float, ...]


class Quantity(Record, frozen=True, kw_only=True):
    """Something of known size, and the size that was seen."""

    true: float
    seen: float
    low: float | None = None
    """Bounds of what was seen, where it was measured more than once."""
    high: float | None = None

    @property
    def error(self) -> float:
        """Relative."""
        return self.seen / self.true - 1.0

    @property
    def admits_truth(self) -> bool:
        """Whether the bounds leave room for the true size."""
        return self.low is not None and self.high is not None and self.low <= self.true <= self.high


class Observations(Record, frozen=True, kw_only=True):
    """What the self-test measured, before anything is made of it."""

    prices: tuple[Price, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    allocation: Quantity | None = None
    """Bytes."""
    work: Quantity | None = None
    """How many times the work of the baseline."""
    waits: tuple[Quantity, ...] = ()
    """Seconds."""


class Rate(Record, frozen=True, kw_only=True):
    """How often something happened, with its interval."""

    num: int
    of: int
    low: float
    high: float


class Identical(Record, frozen=True, kw_only=True):
    """What comparisons of a workload with itself said."""

    workload: str | None
    """None: all of them."""
    alarms: Rate
    """FASTER or SLOWER."""
    equivalent: Rate
    covers: Rate
    """The interval contains 1."""


class Detection(Record, frozen=True, kw_only=True):
    """What comparisons with an injected slowdown said."""

    workload: str
    dose: float
    counted: float
    called: Rate
    """SLOWER, beyond the margin."""
    above: Rate
    """The whole interval lies above 1."""


class Reach(Record, frozen=True, kw_only=True):
    """The smallest slowdown that a comparison of a given length shows."""

    workload: str
    deviation: float
    """Standard deviation of the logarithm of the ratio between launches."""
    launch_seconds: float
    """Seconds that a launch takes."""
    effects: tuple[tuple[float, float | None], ...]
    """Seconds of measuring with the effect; None where they hold fewer than two launches."""


class SelfTest(Record, frozen=True, kw_only=True):
    """What is known about stepmark on this machine."""

    budget: float
    seconds: float
    """Spent."""
    threads: int
    seed: int
    margin: float
    confidence: float
    interrupted: bool
    observations: Observations
    identical: tuple[Identical, ...]
    """By workload, then all of them where there are several."""
    detections: tuple[Detection, ...]
    reaches: tuple[Reach, ...]
    num_invalid: int
    """Comparisons that gave no ratio."""
    diagnoses: tuple[Diagnosis, ...] = ()
    """The worst first."""
    device: str = "cpu"
