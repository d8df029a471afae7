"""The report as Criterion writes it, for those who know it: progress lines, estimates, changes, outliers.

Criterion sends progress to standard error and results to standard output; this is what a file shows that
caught both. Its rules and what they leave out are in docs/criterion.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from stepmark.records.estimate import OutlierCounts
from stepmark.records.run import Judgement, Recording
from stepmark.report import criterion_numbers as text
from stepmark.report.criterion_view import Benchmark, Collection, Result, Shortfall, build_benchmarks
from stepmark.stats.criterion_change import SIGNIFICANCE, Change
from stepmark.stats.criterion_plan import Sampling

COLUMN = 24
"""Where results begin; an id that does not leave a space before it has a line of its own."""
INDENT = " " * COLUMN


def render(judgement: Judgement, recording: Recording, *, previous: Recording | None = None) -> str:
    """The run, with its changes from a previous one."""
    return render_benchmarks(build_benchmarks(judgement, recording, previous=previous))


def render_benchmarks(benchmarks: Iterable[Benchmark]) -> str:
    """Group by group, an empty line after each."""
    lines: list[str] = []
    for _, group in groupby(benchmarks, key=lambda benchmark: benchmark.group):
        for benchmark in group:
            lines += _lines(benchmark)
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


def _lines(benchmark: Benchmark) -> Iterator[str]:
    title = f"Benchmarking {benchmark.id}"
    yield title
    collection, result = benchmark.collection, benchmark.result
    if collection is None or result is None:
        yield f"{title}: {benchmark.outcome or 'not measured yet'}"
        return
    yield f"{title}: Warming up for {text.time(collection.warmup_seconds)}"
    if collection.shortfall:
        yield from ("", _warning(collection, collection.shortfall))
    iterations = f"{text.iterations(collection.iterations)} iterations"
    estimated = text.time(collection.seconds)
    yield f"{title}: Collecting {collection.num_samples} samples in estimated {estimated} ({iterations})"
    yield f"{title}: Analyzing"
    yield from _result(benchmark.id, result)
    yield from _outliers(result.outliers, collection.num_samples)


def _warning(collection: Collection, shortfall: Shortfall) -> str:
    linear = shortfall.sampling is Sampling.LINEAR
    if shortfall.advised_samples != collection.num_samples:
        flat = ", enable flat sampling" if linear else ""
        advice = f"{flat}, or reduce sample count to {shortfall.advised_samples}"
    else:
        advice = " or enable flat sampling" if linear else ""
    return (
        f"Warning: Unable to complete {collection.num_samples} samples in {text.limit(shortfall.target)}. "
        f"You may wish to increase target time to {text.limit(collection.seconds)}{advice}."
    )


def _result(id: str, result: Result) -> Iterator[str]:
    time = _triple(map(text.time, (result.low, result.point, result.high)))
    width = len(id.encode())  # Criterion counts bytes
    if width >= COLUMN:
        yield id
        yield f"{INDENT}time:   {time}"
    else:
        yield f"{id}{' ' * (COLUMN - width)}time:   {time}"
    if result.elements is not None:
        seconds = (result.high, result.point, result.low)
        yield f"{INDENT}thrpt:  {_triple(text.rate(result.elements / each) for each in seconds)}"
    if result.change is not None:
        yield from _change(result.change, throughput=result.elements is not None)


def _change(change: Change, *, throughput: bool) -> Iterator[str]:
    changes = _triple(map(text.change, (change.low, change.point, change.high)))
    sign = "<" if change.p_value < SIGNIFICANCE else ">"
    tested = f"{changes} (p = {change.p_value:.2f} {sign} {SIGNIFICANCE:.2f})"
    if throughput:
        rates = (1.0 / (1.0 + each) - 1.0 for each in (change.high, change.point, change.low))
        yield f"{' ' * 17}change:"
        yield f"{INDENT}time:   {tested}"
        yield f"{INDENT}thrpt:  {_triple(map(text.change, rates))}"
    else:
        yield f"{INDENT}change: {tested}"
    yield f"{INDENT}{change.sentence}"


def _outliers(outliers: OutlierCounts, num_samples: int) -> Iterator[str]:
    total = outliers.total
    if not total:
        return
    yield f"Found {total} outliers among {num_samples} measurements ({_share(total, num_samples)})"
    for name in OutlierCounts.__struct_fields__:
        count = getattr(outliers, name)
        if count:
            yield f"  {count} ({_share(count, num_samples)}) {name.replace('_', ' ')}"


def _share(count: int, num_samples: int) -> str:
    return f"{100.0 * count / num_samples:.2f}%"


def _triple(values: Iterable[str]) -> str:
    return f"[{' '.join(values)}]"
