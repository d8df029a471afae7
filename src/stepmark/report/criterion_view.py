"""The Criterion view: a run's blocks as the samples of Criterion, and what its rules make of them.

Criterion keeps 100 samples of one process. A run has thousands of short blocks from many launches, and shows
them as 100 samples too: each is the sum of consecutive blocks of one launch, and every block is in one. The
samples of a case then have about the same number of iterations, which Criterion calls flat sampling and
answers with the mean. A slope would be wrong here: blocks are sized by time, a slow launch gets smaller
ones, and a slope gives these less weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from stepmark.records.case import Case, Cell
from stepmark.records.estimate import OutlierCounts
from stepmark.records.outcome import Outcome
from stepmark.records.record import Record
from stepmark.records.run import CaseJudgement, Judgement, Recording
from stepmark.records.trial import LaneTrial, LaunchTrial, Warmup, counting
from stepmark.stats.arrays import FloatArray
from stepmark.stats.blocks import integers, seconds_per_iteration
from stepmark.stats.criterion_change import Change, compare_samples
from stepmark.stats.criterion_estimate import estimate_time
from stepmark.stats.criterion_plan import Sampling
from stepmark.stats.tukey import count_outliers

NUM_SAMPLES = 100
"""Criterion's default."""


Launches = dict[Cell, list[LaunchTrial]]


class Shortfall(Record, frozen=True, kw_only=True):
    """A plan that cannot be kept in the time allowed."""

    target: float
    """Seconds allowed."""
    sampling: Sampling
    advised_samples: int


class Collection(Record, frozen=True, kw_only=True):
    """How the samples were collected."""

    num_samples: int
    seconds: float
    iterations: int
    """Of all samples together."""
    warmup_seconds: float
    shortfall: Shortfall | None = None
    """Of Criterion's own plans; stepmark plans otherwise."""


class Result(Record, frozen=True, kw_only=True):
    """What was found."""

    low: float
    """Seconds of an iteration, like `point` and `high`."""
    point: float
    high: float
    outliers: OutlierCounts
    change: Change | None = None
    """Against the saved run; None without one."""
    elements: int | None = None
    """Worked on by an iteration: gives the throughput lines."""


class Benchmark(Record, frozen=True, kw_only=True):
    """One case."""

    id: str
    outcome: Outcome | None = Outcome.MEASURED
    """None while the case has not been reached."""
    collection: Collection | None = None
    """None, like the result, for a case that was not measured to the end."""
    result: Result | None = None

    @property
    def group(self) -> str:
        return self.id.partition("/")[0]


class Measurements(NamedTuple):
    """The samples of one case: one value each."""

    iterations: FloatArray
    seconds: FloatArray
    warmup_seconds: float

    @property
    def averages(self) -> FloatArray:
        return self.seconds / self.iterations


def build_benchmarks(
    judgement: Judgement, recording: Recording, *, previous: Recording | None = None
) -> tuple[Benchmark, ...]:
    """Every case of the run, with its change from the same case of a previous run."""
    now, then = _by_cell(recording), _by_cell(previous) if previous else {}
    cells = [case.case.cell for case in judgement.cases]
    seed = recording.run.settings.seed
    return tuple(
        _benchmark(benchmark_id(case.case, cells), case, now=now, then=then, seed=seed)
        for case in judgement.cases
    )


def _benchmark(id: str, case: CaseJudgement, *, now: Launches, then: Launches, seed: int) -> Benchmark:
    if case.outcome is not Outcome.MEASURED:
        return Benchmark(id=id, outcome=case.outcome)
    found, before = (_measurements(launches, case.case, case.primary) for launches in (now, then))
    if found is None:
        return Benchmark(id=id, outcome=None)
    collection = Collection(
        num_samples=found.seconds.size,
        seconds=float(found.seconds.sum()),
        iterations=int(found.iterations.sum()),
        warmup_seconds=found.warmup_seconds,
    )
    generator = np.random.default_rng([*f"{seed} {case.case.id}".encode()])
    return Benchmark(id=id, collection=collection, result=_result(found, before, generator))


def _result(found: Measurements, before: Measurements | None, generator: np.random.Generator) -> Result:
    point, low, high = estimate_time(found.iterations, found.seconds, generator=generator)
    counts = count_outliers(found.averages)
    change = None
    if before is not None and min(found.seconds.size, before.seconds.size) > 1:
        change = compare_samples(found.averages, before.averages, generator=generator)
    return Result(
        low=float(low),
        point=float(point),
        high=float(high),
        outliers=OutlierCounts(**{name: int(count) for name, count in counts._asdict().items()}),
        change=change,
    )


def benchmark_id(case: Case, cells: list[Cell]) -> str:
    """`suite/variant/parameter`; the parameter names axes, and what else is not the same in all cells."""
    cell = case.cell
    others = [each for each in cells if each.suite == cell.suite]
    kinds = ("device", "dtype", "mode")
    varying = [str(getattr(cell, kind)) for kind in kinds if len({getattr(o, kind) for o in others}) > 1]
    return "/".join(filter(None, (cell.suite, case.variant, ",".join(filter(None, (cell.point, *varying))))))


def _measurements(launches_of: Launches, case: Case, phase: str | None) -> Measurements | None:
    """None where no launch has blocks of the phase."""
    lanes = list(_lanes(launches_of.get(case.cell, []), case.variant))
    launches = [blocks for lane in lanes if phase and (blocks := _blocks(lane, phase)) is not None]
    if not launches:
        return None
    share, more = divmod(NUM_SAMPLES, len(launches))
    samples = [
        sample
        for place, blocks in enumerate(launches)
        for sample in _sums(blocks, max(1, share + (place < more)))
    ]
    iterations, seconds = np.transpose(samples)
    warmup = sum(_warmup_seconds(lane.warmup) for lane in lanes if lane.warmup)
    return Measurements(iterations=iterations, seconds=seconds, warmup_seconds=warmup)


def _by_cell(recording: Recording) -> Launches:
    cells: Launches = {}
    for launch in recording.launches:
        cells.setdefault(launch.cell, []).append(launch)
    return cells


def _lanes(launches: Iterable[LaunchTrial], variant: str) -> Iterator[LaneTrial]:
    """Of the launches that verdicts come from, in their order: in company, separate where there are such."""
    for launch in sorted(counting(launches), key=lambda launch: launch.number):
        yield from (lane for lane in launch.lanes if lane.variant == variant)


def _blocks(lane: LaneTrial, phase: str) -> FloatArray | None:
    """Iterations and seconds of each block, in two rows.

    The parts of a total may differ in their iterations; their times per iteration add up, and the smallest
    number of iterations is how often the whole was done.
    """
    totals = lane.layout.totals if lane.layout else ()
    parts = next((total.parts for total in totals if total.name == phase), (phase,))
    samples = {sample.phase: sample for sample in lane.samples}
    if not lane.rounds or not all(part in samples for part in parts):
        return None
    found = [samples[part] for part in parts]
    iterations = min(sample.iterations for sample in found)
    each = np.sum([seconds_per_iteration(part.nanoseconds, part.iterations) for part in found], axis=0)
    return np.stack([np.full(each.size, float(iterations)), each * iterations])


def _sums(blocks: FloatArray, num_samples: int) -> list[FloatArray]:
    """Consecutive blocks added up, into as many samples or, where there are fewer blocks, one each."""
    groups = np.array_split(blocks, min(num_samples, blocks.shape[1]), axis=1)
    return [group.sum(axis=1) for group in groups]


def _warmup_seconds(warmup: Warmup) -> float:
    return float(integers(warmup.nanoseconds).sum() + integers(warmup.first).sum()) * 1e-9
