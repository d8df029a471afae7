"""The self-test: stepmark's own pipeline, told to measure things whose truth is known.

Known quantities come first (an allocation, twice the work, waits; on CUDA kernels of known length), then the
price of an empty turn in each workload, then comparisons until the budget ends: every second one of identical
code, between them one with an injected slowdown, the workloads in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from msgspec.structs import replace

from stepmark.analysis.self_evaluation import detections, identical, launch_centres, launch_seconds, reaches
from stepmark.doctor.examine import worst_first
from stepmark.doctor.promises import check_promises
from stepmark.errors import Interrupted
from stepmark.measure.engine import Engine
from stepmark.measure.expand import Selection
from stepmark.pipeline import Order, Watcher, judged, measure
from stepmark.records.case import AxisValue, Cache
from stepmark.records.estimate import Estimate
from stepmark.records.run import CaseJudgement, Judgement, Recording
from stepmark.records.self_test import Comparison, Observations, Price, Quantity, SelfTest
from stepmark.records.settings import Policy, Settings
from stepmark.records.source import BuiltinSource
from stepmark.records.verdict import VerdictKind
from stepmark.store.store import Store

SOURCE = BuiltinSource(name="selftest")
DOSES = (0.01, 0.02, 0.05, 0.10)
TURNS_OF_THE_PRICE = {"norm_softmax": 4000, "linear": 6000}
"""By workload: about half a call on a machine of 2026, so that the ratio's error is a few per cent of it."""
CYCLES_OF_THE_PRICE = {"norm_softmax": 200_000, "linear": 350_000}
"""The same on CUDA."""
MOST_LAUNCHES = 200
"""A comparison's length is its budget."""
WAIT_MICROSECONDS = (20, 200)
KERNEL_MICROSECONDS = (200, 2000)
"""On CUDA: a kernel takes a microsecond or two to begin and to end, which is no part of what it counts."""
ALLOCATED_MEBIBYTES = 64
TWICE = 2.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long the test may take, and how it measures."""

    budget: float
    """Seconds. What has begun is finished."""
    device: str = "cpu"
    threads: int = 1
    seed: int = 0
    policy: Policy = field(default_factory=Policy)
    protocol: Settings = field(default_factory=lambda: Settings(launches=MOST_LAUNCHES, audit=False))
    """What the settings above do not say. What is compared here is known: it needs no audit."""

    @property
    def on_cpu(self) -> bool:
        return self.device == "cpu"

    @property
    def prices(self) -> dict[str, int]:
        """Turns, or cycles, with which the price of one is measured, by workload."""
        return TURNS_OF_THE_PRICE if self.on_cpu else CYCLES_OF_THE_PRICE

    @property
    def comparison_seconds(self) -> float:
        """Ten seconds of five minutes, and never more."""
        return min(max(self.budget / 30.0, 0.5), 10.0)

    def settings(self, number: int) -> Settings:
        """Of the test's measurement with this number: each has its own seed."""
        return replace(
            self.protocol, seed=self.seed + number, threads=self.threads, budget=self.comparison_seconds
        )


def self_test(
    plan: Plan,
    *,
    engine: Engine,
    store: Store,
    say: Callable[[str], object] = lambda _: None,
    watcher: Watcher | None = None,
    now: Callable[[], float] = time.monotonic,
) -> SelfTest:
    """Measure until the budget ends or the user stops it, then evaluate; `say` hears the stages."""
    begin = now()
    bench = _Bench(plan, engine=engine, store=store, watcher=watcher)
    seen, stopped = Observations(), False
    try:
        for say_what, observe in _program(bench):
            if now() - begin >= plan.budget:
                break
            say(say_what)
            seen = observe(seen)
    except (Interrupted, KeyboardInterrupt):
        stopped = True
    return evaluate(seen, plan, seconds=now() - begin, interrupted=stopped)


def evaluate(seen: Observations, plan: Plan, *, seconds: float, interrupted: bool = False) -> SelfTest:
    """Pure: what the observations say."""
    test = SelfTest(
        budget=plan.budget,
        seconds=seconds,
        threads=plan.threads,
        seed=plan.seed,
        margin=plan.policy.margin,
        confidence=plan.policy.confidence,
        interrupted=interrupted,
        observations=seen,
        identical=identical(seen),
        detections=detections(seen),
        reaches=reaches(seen, confidence=plan.policy.confidence),
        num_invalid=sum(one.ratio is None for one in seen.comparisons),
        device=plan.device,
    )
    return replace(test, diagnoses=worst_first(check_promises(test)))


Observe = Callable[[Observations], Observations]


def _program(bench: _Bench) -> Iterator[tuple[str, Observe]]:
    """What to say and what to do, without end."""
    plan = bench.plan
    if plan.on_cpu:  # the operating system does not count an accelerator's memory
        yield "a known allocation", lambda seen: replace(seen, allocation=bench.allocation())
    yield "twice the work", lambda seen: replace(seen, work=bench.twice_the_work())
    what = "wait" if plan.on_cpu else "kernel"
    for microseconds in WAIT_MICROSECONDS if plan.on_cpu else KERNEL_MICROSECONDS:
        yield f"a {what} of {microseconds} µs", bench.wait(microseconds)
    for workload in plan.prices:
        yield f"the price of a turn in {workload}", bench.price(workload)
    for number, (workload, dose) in enumerate(rotation(), 1):
        told = "identical code" if dose == 0.0 else f"{dose:.0%} injected"
        yield f"comparison {number}: {told}, {workload}", bench.comparison(workload, dose)


def rotation() -> Iterator[tuple[str, float]]:
    """Workload and dose of each comparison; every second round of the workloads is of identical code."""
    for turn in count():
        dose = DOSES[turn // 2 % len(DOSES)] if turn % 2 else 0.0
        for workload in TURNS_OF_THE_PRICE:
            yield workload, dose


class _Bench:
    """Runs the pipeline on one suite of the self-test after the other."""

    def __init__(self, plan: Plan, *, engine: Engine, store: Store, watcher: Watcher | None) -> None:
        self.plan, self._engine, self._store, self._watcher = plan, engine, store, watcher
        self._numbers = count()

    def _measure(self, suite: str, axes: dict[str, list[AxisValue]], **changes: Any) -> Recording:
        """With the plan's settings, but for the changes."""
        order = Order(
            sources=(SOURCE,),
            settings=replace(self.plan.settings(next(self._numbers)), **changes),
            policy=self.plan.policy,
            selection=Selection(axes=axes, condition=f"suite == '{suite}'", caches=(Cache.WARM,)),
            device=self.plan.device,
        )
        return measure(order, engine=self._engine, store=self._store, watcher=self._watcher)

    def allocation(self) -> Quantity | None:
        """The solo passes are enough: no budget for launches."""
        recording = self._measure("selftest_allocation", {"mebibytes": [ALLOCATED_MEBIBYTES]}, budget=0.0)
        peaks = {solo.case.variant: solo.evidence.peak_rss_bytes for solo in recording.solos if solo.evidence}
        if len(peaks) != 2:
            return None
        return Quantity(true=ALLOCATED_MEBIBYTES * 2.0**20, seen=peaks["with"] - peaks["without"])

    def twice_the_work(self) -> Quantity | None:
        judgement = judged(self._measure("selftest_work", {}, stop=False))
        _, ratio = _verdict(judgement)
        return None if ratio is None else _quantity(TWICE, ratio)

    def wait(self, microseconds: int) -> Observe:
        def observe(seen: Observations) -> Observations:
            recording = self._measure("selftest_waits", {"microseconds": [microseconds]}, stop=False)
            (case,) = judged(recording).cases
            level = _level(case)
            if level is None:
                return seen
            return replace(seen, waits=(*seen.waits, _quantity(microseconds / 1e6, level)))

        return observe

    def price(self, workload: str) -> Observe:
        def observe(seen: Observations) -> Observations:
            turns = self.plan.prices[workload]
            _, ratio = _verdict(judged(self._pair(workload, turns, stop=False)))
            if ratio is None or ratio.point <= 1.0:
                return seen
            price = Price(workload=workload, turns=turns, ratio=ratio)
            return replace(seen, prices=(*seen.prices, price))

        return observe

    def comparison(self, workload: str, dose: float) -> Observe:
        def observe(seen: Observations) -> Observations:
            price = next((one.per_turn for one in seen.prices if one.workload == workload), None)
            if dose and price is None:
                # Without a price there is no knowing what was injected.
                return seen
            turns = round(dose / price) if price else 0
            recording = self._pair(workload, turns)
            kind, ratio = _verdict(judged(recording))
            made = Comparison(
                workload=workload,
                dose=dose,
                turns=turns,
                counted=turns * price if price else 0.0,
                kind=kind,
                ratio=ratio,
                centres=launch_centres(recording),
                launch_seconds=launch_seconds(recording),
            )
            return replace(seen, comparisons=(*seen.comparisons, made))

        return observe

    def _pair(self, workload: str, turns: int, **changes: Any) -> Recording:
        return self._measure("selftest_pairs", {"workload": [workload], "turns": [turns]}, **changes)


def _verdict(judgement: Judgement) -> tuple[VerdictKind, Estimate | None]:
    """Of the one case that is compared."""
    verdict = next(case.verdict for case in judgement.cases if case.verdict is not None)
    return verdict.kind, verdict.ratio


def _quantity(true: float, seen: Estimate) -> Quantity:
    return Quantity(true=true, seen=seen.point, low=seen.low, high=seen.high)


def _level(case: CaseJudgement) -> Estimate | None:
    """Seconds of the primary phase, the median over launches."""
    summary = case.summary(case.primary) if case.primary is not None else None
    return None if summary is None else summary.median
