"""The published LoRA result as tables: as published, Criterion's plans made again, and the kernel's work."""

from __future__ import annotations

from stepmark.interchange.criterion import CriterionLog
from stepmark.interchange.criterion_benchmarks import Benchmark, benchmarks
from stepmark.published.lora_plan import recovered_plans
from stepmark.published.lora_work import PUBLISHED_WORK
from stepmark.report import format as show
from stepmark.report.shown_table import ShownTable


def tables(log: CriterionLog) -> tuple[ShownTable, ...]:
    return (_published(log), _plans(log), _work())


def _published(log: CriterionLog) -> ShownTable:
    return ShownTable(
        title="Published: time with its interval, change from the run before",
        head=("benchmark", "time", "low", "high", "change", "p"),
        rows=tuple(map(_row, benchmarks(log))),
        sides="frrrrr",
    )


def _row(benchmark: Benchmark) -> tuple[str, ...]:
    time, change = benchmark.time, benchmark.change
    times = ("", "", "") if time is None else (str(time.point), str(time.low), str(time.high))
    changed = "" if change is None else str(change.point)
    p = "" if change is None or change.tested is None else change.tested.p
    return (benchmark.id, *(text.strip() for text in times), changed, p)


def _plans(log: CriterionLog) -> ShownTable:
    rows = tuple(
        (
            plan.id.rpartition("/")[2],
            f"{plan.sampling} {plan.step}",
            str(plan.iterations),
            show.seconds(plan.warm_up),
            f"{plan.drift:.2f}x",
            f"±{100 * plan.half_width:.1f} %",
            "" if plan.elements is None else str(plan.elements),
        )
        for plan in recovered_plans(log)
    )
    return ShownTable(
        title="Criterion's plans made again: iterations, and the mean of the warm-up that they come from",
        head=("benchmark", "plan", "iterations", "warm-up", "then", "interval", "elements"),
        rows=rows,
        sides="flrrrrr",
        note="then: the published time over the mean of the warm-up just before; it would be 1 had the clock "
        "waited for the device",
    )


def _work() -> ShownTable:
    return ShownTable(
        title="Work of a forward pass, MFLOP",
        head=("features", "rank", "needed", "computed", "times"),
        rows=tuple(
            (
                str(work.features),
                str(work.rank),
                f"{work.needed / 1e6:.2f}",
                f"{work.computed / 1e6:.0f}",
                f"{work.excess:.0f}",
            )
            for work in PUBLISHED_WORK
        ),
        sides="rrrrr",
    )
