"""What a Criterion log says, benchmark by benchmark."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from stepmark.interchange.criterion import CriterionLog, is_time
from stepmark.interchange.criterion_lines import (
    Analyze,
    Collect,
    Interval,
    OutlierClass,
    Outliers,
    Sentence,
    Shortfall,
    Start,
    Title,
    WarmUp,
)
from stepmark.records.record import Record


class Benchmark(Record, frozen=True, kw_only=True):
    """One benchmark; what its log does not say is None or empty."""

    id: str
    warm_up: WarmUp | None = None
    shortfall: Shortfall | None = None
    collect: Collect | None = None
    time: Interval | None = None
    """None where the benchmark did not come to its end."""
    throughput: tuple[Interval, ...] = ()
    """In elements, in bytes, or in both."""
    change: Interval | None = None
    """Of the time, against the run before."""
    throughput_change: tuple[Interval, ...] = ()
    sentence: str = ""
    outliers: Outliers | None = None
    outlier_classes: tuple[OutlierClass, ...] = ()


def benchmarks(log: CriterionLog) -> tuple[Benchmark, ...]:
    """In the order in which they began."""
    found: list[Benchmark] = []
    at = -1
    for part in log.parts:
        id = _name(part)
        if id:
            at = _place(found, at, id, part)
        if at >= 0:
            found[at] = _with(found[at], part)
    return tuple(found)


def _name(part: object) -> str:
    """The benchmark that a line names; empty where it names none."""
    return part.id if isinstance(part, Start | WarmUp | Collect | Analyze | Title | Interval) else ""


def _place(found: list[Benchmark], at: int, id: str, part: object) -> int:
    """Where the benchmark is: the last one of that name which may still get this line, or a new one.

    Results may come long after all progress: standard output is buffered where it is no terminal.
    """
    begins = isinstance(part, Start)
    result = isinstance(part, Title) or is_time(part)
    for place in _nearest(found, at):
        each = found[place]
        if each.id == id and not begins and not (result and each.time is not None):
            return place
    found.append(Benchmark(id=id))
    return len(found) - 1


def _nearest(found: list[Benchmark], at: int) -> Iterator[int]:
    """The current one, then the others from the first on."""
    if at >= 0:
        yield at
    yield from range(len(found))


def _with(benchmark: Benchmark, part: object) -> Benchmark:
    changed: dict[str, object] = {}
    match part:
        case WarmUp():
            changed = {"warm_up": part}
        case Shortfall():
            changed = {"shortfall": part}
        case Collect():
            changed = {"collect": part}
        case Interval():
            changed = _interval_of(benchmark, part)
        case Sentence():
            changed = {"sentence": part.text}
        case Outliers():
            changed = {"outliers": part}
        case OutlierClass():
            changed = {"outlier_classes": (*benchmark.outlier_classes, part)}
    return replace(benchmark, **changed) if changed else benchmark


def _interval_of(benchmark: Benchmark, interval: Interval) -> dict[str, object]:
    """Which field it is."""
    if is_time(interval):
        return {"time": interval}
    changes = interval.point.unit == "%"
    if interval.label == "thrpt" and changes:
        return {"throughput_change": (*benchmark.throughput_change, interval)}
    if interval.label == "thrpt":
        return {"throughput": (*benchmark.throughput, interval)}
    return {"change": interval}
