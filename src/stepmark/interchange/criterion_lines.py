"""The lines Criterion prints, each kind with its fields; numbers stay as they were printed.

    Benchmarking ID                                               progress, on standard error
    Benchmarking ID: Warming up for T
    Warning: Unable to complete N samples in T. You may wish ...
    Benchmarking ID: Collecting N samples in estimated T (I iterations)
    Benchmarking ID: Analyzing
    ID                      time:   [L M H]                       results, on standard output;
                            thrpt:  [L M H]                       a long ID has a line of its own
                            change: [L M H] (p = P < S)
                            Performance has improved.
    Found N outliers among N measurements (P%)
      N (P%) high severe

With throughput a line `change:` comes first, then the changes as `time:` and `thrpt:`. Versions 0.3 to 0.8
agree in this. How they spell microseconds (us, µs) and minus (-, −) is kept, and so are a column or trailing
spaces that a terminal or an editor changed.
"""

from __future__ import annotations

from typing import ClassVar

from stepmark.interchange.terminal_marks import Mark
from stepmark.records.record import Record

COLUMN = 24
"""Where results begin; a shorter id stands before them on the same line."""
_SIZE = 6
"""What Criterion pads numbers to."""


class Quantity(Record, frozen=True, kw_only=True):
    """A number with its unit."""

    digits: str
    """As printed, with its sign."""
    unit: str
    """As printed: `ms`, `%`, or ` elem/s`, where a space makes units equally long."""

    def __str__(self) -> str:
        return f"{self.digits}%" if self.unit == "%" else f"{self.digits:>{_SIZE}} {self.unit}"


class Line(Record, frozen=True, kw_only=True):
    """What all kinds have."""

    trailing: str = ""
    """White space at the end."""
    marks: tuple[Mark, ...] = ()
    """Of a terminal; `str` gives the line without them."""


class Start(Line, frozen=True, kw_only=True, tag="start"):
    id: str

    def __str__(self) -> str:
        return f"Benchmarking {self.id}{self.trailing}"


class WarmUp(Line, frozen=True, kw_only=True, tag="warm-up"):
    id: str
    time: Quantity

    def __str__(self) -> str:
        return f"Benchmarking {self.id}: Warming up for {self.time}{self.trailing}"


class Collect(Line, frozen=True, kw_only=True, tag="collect"):
    id: str
    samples: int
    time: Quantity
    """Estimated, for all samples."""
    iterations: str
    """Of all samples, rounded from 10 000 on: `5050`, `15k`, `1.2M`."""

    def __str__(self) -> str:
        return (
            f"Benchmarking {self.id}: Collecting {self.samples} samples in estimated {self.time} "
            f"({self.iterations} iterations){self.trailing}"
        )


class Analyze(Line, frozen=True, kw_only=True, tag="analyze"):
    id: str

    def __str__(self) -> str:
        return f"Benchmarking {self.id}: Analyzing{self.trailing}"


class Shortfall(Line, frozen=True, kw_only=True, tag="shortfall"):
    """The plan takes longer than it may."""

    samples: int
    target: str
    """Time allowed: `5.0s`."""
    needed: str
    advice: str
    """What else could be changed."""

    def __str__(self) -> str:
        return (
            f"Warning: Unable to complete {self.samples} samples in {self.target}. "
            f"You may wish to increase target time to {self.needed}{self.advice}.{self.trailing}"
        )


class Title(Line, frozen=True, kw_only=True, tag="title"):
    """An id too long to share the line of its result."""

    id: str

    def __str__(self) -> str:
        return f"{self.id}{self.trailing}"


class Tested(Record, frozen=True, kw_only=True):
    """The end of a change's line."""

    p: str
    sign: str
    """`<` where the change is significant."""
    level: str

    def __str__(self) -> str:
        return f" (p = {self.p} {self.sign} {self.level})"


class Interval(Line, frozen=True, kw_only=True, tag="interval"):
    """Three values: a time, a throughput, or the change of one."""

    label: str
    """`time`, `thrpt` or `change`."""
    id: str = ""
    """Where it stands on the same line."""
    column: int = COLUMN
    low: Quantity
    point: Quantity
    high: Quantity
    tested: Tested | None = None

    def __str__(self) -> str:
        start = self.id + " " * (self.column - len(self.id.encode()))
        values = f"[{self.low} {self.point} {self.high}]"
        return f"{start}{self.label + ':':<8}{values}{self.tested or ''}{self.trailing}"


class ChangeHead(Line, frozen=True, kw_only=True, tag="change-head"):
    """Before the changes of time and throughput."""

    column: int = 17

    def __str__(self) -> str:
        return f"{' ' * self.column}change:{self.trailing}"


class Sentence(Line, frozen=True, kw_only=True, tag="sentence"):
    """What Criterion says about a change."""

    NO_CHANGE: ClassVar[str] = "No change in performance detected."
    IMPROVED: ClassVar[str] = "Performance has improved."
    REGRESSED: ClassVar[str] = "Performance has regressed."
    NOISE: ClassVar[str] = "Change within noise threshold."

    column: int = COLUMN
    text: str

    def __str__(self) -> str:
        return f"{' ' * self.column}{self.text}{self.trailing}"


class Outliers(Line, frozen=True, kw_only=True, tag="outliers"):
    count: int
    samples: int
    percent: str

    def __str__(self) -> str:
        found = f"Found {self.count} outliers among {self.samples} measurements"
        return f"{found} ({self.percent}%){self.trailing}"


class OutlierClass(Line, frozen=True, kw_only=True, tag="outlier-class"):
    count: int
    percent: str
    kind: str
    """`low severe`, `low mild`, `high mild` or `high severe`."""

    def __str__(self) -> str:
        return f"  {self.count} ({self.percent}%) {self.kind}{self.trailing}"


Printed = (
    Start
    | WarmUp
    | Collect
    | Analyze
    | Shortfall
    | Title
    | Interval
    | ChangeHead
    | Sentence
    | Outliers
    | OutlierClass
)
