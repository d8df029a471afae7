"""Estimates: points with intervals, and how each was made."""

from __future__ import annotations

from enum import StrEnum

from stepmark.records.record import Record


class Method(StrEnum):
    """How an interval was made."""

    T_LAUNCHES = "t over launches"
    """Student's t on one robust centre per launch: on its logarithm for times and ratios, as it is for the
    remainder, which is a difference and may be near zero."""
    WELCH_LAUNCHES = "Welch's t over launches of two runs"
    """For two levels that were not measured side by side."""
    T_RUNS = "t over runs"
    """Of levels that did not change from run to run."""
    WELCH_RUNS = "Welch's t over runs before and after"
    """For the step from one such level to the next."""
    BOOTSTRAP_BLOCKS = "bootstrap over blocks of one launch"
    """All that one launch allows: it does not contain the spread between processes."""


class Estimate(Record, frozen=True, kw_only=True, gc=False):
    """A point with its interval; seconds for levels, a plain number for ratios.

    Numbers alone make no cycles: thousands of estimates need not be visited by the garbage collector.
    """

    point: float
    low: float
    high: float
    confidence: float
    method: Method
    num_launches: int
    """Launches that it rests on; runs, where the method is over runs."""

    def __post_init__(self) -> None:
        if not self.low <= self.point <= self.high:
            raise ValueError(f"point {self.point} outside its interval [{self.low}, {self.high}]")

    @property
    def half_width(self) -> float:
        """Half the interval's width relative to the point."""
        return (self.high - self.low) / (2.0 * self.point) if self.point else 0.0


class Bound(StrEnum):
    """Who decided how long a phase took on a device."""

    DEVICE = "device"
    """It still had work when the host had asked for all of the phase."""
    HOST = "host"
    """It was done almost as soon as the host had asked: the time is the cost of asking."""


class OutlierCounts(Record, frozen=True, kw_only=True):
    """Blocks beyond Tukey's fences: labelled, counted, kept."""

    low_severe: int = 0
    low_mild: int = 0
    high_mild: int = 0
    high_severe: int = 0

    @property
    def total(self) -> int:
        return self.low_severe + self.low_mild + self.high_mild + self.high_severe


class Summary(Record, frozen=True, kw_only=True):
    """One phase of one case over all its launches, per iteration."""

    case: str
    """Case id."""
    phase: str
    median: Estimate
    mean: Estimate
    minimum: float
    spread_within: float
    """Median absolute deviation of blocks inside a launch, scaled to a standard deviation, relative."""
    spread_between: float
    """Standard deviation of the logarithm of the launch medians; 0 with a single launch."""
    num_blocks: int
    outliers: OutlierCounts
    host_seconds: float | None = None
    """Of the host for the same iterations, the median over launches; None where the host does the work."""
    lag_seconds: float | None = None
    """How far the device was behind the host at the phase's end, likewise; None of a total."""
    bound: Bound | None = None
    """None where the host does the work, and of the remainder."""
