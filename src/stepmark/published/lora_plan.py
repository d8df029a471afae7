"""Criterion's plans, made again: what the log does not print, from what it does.

Method.       The log gives the number of samples, the estimated time and the number of iterations, rounded.
              Every plan with that rounded number gives a mean time of the warm-up; the right one is the plan
              that Criterion makes for its own mean.
Formula.      mean = estimated time / iterations;  plan(mean) must have these iterations
Assumptions.  Criterion's defaults: 5 s to measure in.
Source.       The sampling of Criterion.rs 0.5.1, restated in stats/criterion_plan.py.
Fails.        Where two plans fit: none of the 17.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from stepmark.interchange.criterion import CriterionLog
from stepmark.interchange.criterion_benchmarks import Benchmark, benchmarks
from stepmark.interchange.criterion_lines import Quantity
from stepmark.interchange.criterion_units import per_second, seconds
from stepmark.published.lora import point_seconds
from stepmark.records.record import Record
from stepmark.stats.criterion_plan import Plan, Sampling, plan_samples

_SIZES = {"k": 1e3, "M": 1e6, "B": 1e9}
_MAX_ERROR = 1e-4
"""Of an estimated time, relative: Criterion prints five digits."""


class RecoveredPlan(Record, frozen=True, kw_only=True):
    """What Criterion did for one benchmark."""

    id: str
    sampling: Sampling
    step: int
    """d of a linear plan, k of a flat one."""
    iterations: int
    warm_up: float
    """Mean seconds of an iteration while warming up."""
    point: float
    """Seconds of an iteration as printed."""
    half_width: float
    """Of the printed interval, relative to the point."""
    elements: int | None
    """An iteration works on, from its throughput: of the whole numbers that fit all printed digits, the one
    with the most factors of two, because counts of elements are products of sizes."""

    @property
    def drift(self) -> float:
        """Measured over warmed up: 1 where an iteration takes as long as it did just before."""
        return self.point / self.warm_up


def recovered_plans(log: CriterionLog) -> tuple[RecoveredPlan, ...]:
    """One a benchmark."""
    return tuple(_recover(benchmark) for benchmark in benchmarks(log))


def _recover(benchmark: Benchmark) -> RecoveredPlan:
    time, collect = benchmark.time, benchmark.collect
    assert time is not None
    assert collect is not None
    estimated, low, high = seconds(collect.time), seconds(time.low), seconds(time.high)
    assert estimated is not None
    assert low is not None
    assert high is not None
    (plan,) = _fitting(collect.samples, estimated, collect.iterations)
    point = point_seconds(benchmark)
    iterations = sum(plan.iterations)
    return RecoveredPlan(
        id=benchmark.id,
        sampling=plan.sampling,
        step=plan.step,
        iterations=iterations,
        warm_up=estimated / iterations,
        point=point,
        half_width=(high - low) / (2.0 * point),
        elements=_elements(benchmark),
    )


def _fitting(num_samples: int, estimated: float, printed: str) -> Iterator[Plan]:
    """Plans with the printed number of iterations that Criterion makes for their own mean."""
    low, high = _range(printed)
    units = {num_samples * (num_samples + 1) // 2, num_samples}
    candidates = {unit * step for unit in units for step in range(-(-low // unit), high // unit + 1)}
    for iterations in sorted(candidates):
        plan = plan_samples(estimated / iterations, num_samples=num_samples)
        if sum(plan.iterations) == iterations and abs(plan.seconds / estimated - 1.0) < _MAX_ERROR:
            yield plan


def _range(printed: str) -> tuple[int, int]:
    """Which numbers are printed so: `15k` stands for 14500 to 15500."""
    scale = _SIZES.get(printed[-1])
    if scale is None:
        return int(printed), int(printed)
    digits = printed[:-1]
    half = scale / 2.0 / (10.0 if "." in digits else 1.0)
    middle = float(digits) * scale
    return int(middle - half), int(middle + half)


def _elements(benchmark: Benchmark) -> int | None:
    if benchmark.time is None or not benchmark.throughput:
        return None
    time, rate = benchmark.time, benchmark.throughput[0]
    pairs = ((time.low, rate.high), (time.point, rate.point), (time.high, rate.low))
    bounds = [_product_range(*pair) for pair in pairs]
    return _roundest(max(low for low, _ in bounds), min(high for _, high in bounds))


def _product_range(time: Quantity, rate: Quantity) -> tuple[float, float]:
    """Of two numbers that were rounded to the digits printed."""
    taken, done = seconds(time), per_second(rate)
    assert taken is not None
    assert done is not None
    error = sum(
        0.5 / float(each.digits) / 10.0 ** len(each.digits.partition(".")[2]) for each in (time, rate)
    )
    return taken * done * (1.0 - error), taken * done * (1.0 + error)


def _roundest(low: float, high: float) -> int | None:
    for power in range(int(high).bit_length(), -1, -1):
        unit = 1 << power
        candidate = math.ceil(low / unit) * unit
        if candidate <= high:
            return candidate
    return None
