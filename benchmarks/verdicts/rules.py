"""The peers' own rules: what each would say about an old and a new side, by its own code where it has any."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

import numpy as np

from benchmarks.verdicts.results import Side
from stepmark.stats.criterion_change import Sentence, compare_samples

_RESAMPLES = 10_000
"""For Criterion's p-value: a tenth of its own number, enough for 0.05 +- 0.002."""


class Answer(StrEnum):
    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    """Or silence: the tool reports no change."""


@dataclass(frozen=True)
class Rule:
    """A tool with the rule by which its users decide."""

    tool: str
    name: str
    statistic: str
    """The field of a side that its estimate is made of."""
    decide: Callable[[Side, Side], Answer]
    """From old and new."""

    def log_ratio(self, old: Side, new: Side) -> float:
        return math.log(getattr(new, self.statistic) / getattr(old, self.statistic))


def _pyperf(old: Side, new: Side) -> Answer:
    """`pyperf compare_to`: a t-test over all values."""
    import pyperf
    from pyperf._compare import CompareData, CompareResult

    def as_benchmark(side: Side) -> Any:
        run = pyperf.Run(side.values, metadata={"name": "call"}, collect_metadata=False)
        return CompareData("call", pyperf.Benchmark([run]))

    result = CompareResult(as_benchmark(old), as_benchmark(new))
    return _direction(result.norm_mean) if result.significant else Answer.SAME


def _pytest(field: str) -> Callable[[Side, Side], Answer]:
    """`--benchmark-compare-fail=FIELD:5%`, which only ever finds regressions."""

    def decide(old: Side, new: Side) -> Answer:
        from pytest_benchmark import utils

        check = cast(Any, utils).parse_compare_fail(f"{field}:5%")
        name = {"min": "minimum"}.get(field, field)
        failed = check.fails({field: getattr(new, name)}, {field: getattr(old, name)})
        return Answer.SLOWER if failed else Answer.SAME

    return decide


def _torch(old: Side, new: Side) -> Answer:
    """It has no rule of its own: the usual reading, medians more than 5 % apart."""
    ratio = new.median / old.median
    return _direction(ratio) if not 1 / 1.05 <= ratio <= 1.05 else Answer.SAME


def _asv(old: Side, new: Side) -> Answer:
    """`asv compare` with its default factor of 1.1 and its own statistics."""
    from asv.commands.compare import _is_result_better
    from asv_runner.statistics import compute_stats

    def stats(side: Side) -> tuple[float, tuple[dict[str, Any], list[float]]]:
        value, described = compute_stats([*side.values], 1)
        return value, (described, [*side.values])

    (old_value, old_stats), (new_value, new_stats) = stats(old), stats(new)
    if _is_result_better(new_value, old_value, new_stats, old_stats, 1.1):
        return Answer.FASTER
    return (
        Answer.SLOWER if _is_result_better(old_value, new_value, old_stats, new_stats, 1.1) else Answer.SAME
    )


def _criterion(old: Side, new: Side) -> Answer:
    change = compare_samples(
        np.array(new.values),
        np.array(old.values),
        generator=np.random.default_rng(0),
        num_resamples=_RESAMPLES,
    )
    answers = {Sentence.REGRESSED: Answer.SLOWER, Sentence.IMPROVED: Answer.FASTER}
    return answers.get(change.sentence, Answer.SAME)


def _direction(ratio: float) -> Answer:
    return Answer.SLOWER if ratio > 1.0 else Answer.FASTER


RULES = (
    Rule("pyperf", "`compare_to`", "mean", _pyperf),
    Rule("pytest-benchmark", "`median:5%`", "median", _pytest("median")),
    Rule("pytest-benchmark", "`min:5%`", "minimum", _pytest("min")),
    Rule("torch.utils.benchmark", "median, 5 %", "median", _torch),
    Rule("asv", "`compare`, factor 1.1", "median", _asv),
    Rule("criterion", "its sentence", "mean", _criterion),
)
STATISTICS = ("mean", "median", "minimum")
