"""Where the variance of a ratio lives: from call to call, block to block, round to round, launch to
launch."""

from __future__ import annotations

from enum import StrEnum

from stepmark.records.record import Record


class Level(StrEnum):
    """A level of the measurement that has a spread of its own."""

    ROUND = "rounds"
    """Longer launches would help."""
    LAUNCH = "launches"
    """More launches would help."""


class Spread(Record, frozen=True, kw_only=True):
    """Relative standard deviations of one case and its ratio, level by level."""

    call: float | None
    """Of single calls, one after the other, alone; None where the solo pass took too few."""
    block: float
    """Of the case's blocks inside a launch."""
    round: float
    """Of the paired ratio from round to round inside a launch."""
    centre: float
    """Of a launch's centre, as far as its rounds explain it."""
    launch: float
    """Of launches' centres beyond what their rounds explain: instances, memory, the process."""
    independence: float = 1.0
    """Of a launch's rounds, the share that count as independent observations; low where the ratio drifts."""

    @property
    def dominant(self) -> Level:
        """Which of the two makes most of the spread of launches' centres."""
        return Level.ROUND if self.centre >= self.launch else Level.LAUNCH
