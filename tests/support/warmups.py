"""Synthetic warm-up studies: launches whose iterations and gauges are written down, without measuring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
from msgspec.structs import replace

from stepmark.records.case import Case, Cell
from stepmark.records.outcome import Failure
from stepmark.records.sample import Layout
from stepmark.records.settings import Settings
from stepmark.records.trial import ProcessFacts
from stepmark.records.warmup import Iteration, Reading, WarmupRecording, WarmupTrial
from tests.support.recordings import make_environment
from tests.support.trials import EPOCH, make_failure

TRAIN = Layout(phases=("step", "forward", "backward", "optimizer"), primary="step", whole="step")
SHARES = (1.0, 0.25, 0.5, 0.25)
"""Of the step that each phase takes."""
CASE = Case(variant="mine", cell=Cell(suite="layers", axes=(("features", 512),)))
MS = 1e-3
BEFORE = Reading(minor_faults=100, modules=50, threads=1, spin_nanoseconds=50_000, resident_bytes=1 << 20)

Rises = Mapping[str, Mapping[int, float]]
"""By gauge: how much it rises in which iterations."""


def make_trial(
    steps: Sequence[float],
    *,
    number: int = 0,
    layout: Layout = TRAIN,
    shares: Sequence[float] = SHARES,
    rises: Rises | None = None,
    spins: Mapping[int, int] | None = None,
    new_modules: Mapping[int, tuple[str, ...]] | None = None,
    seconds_per_fault: float | None = 1e-6,
    failure: Failure | None = None,
) -> WarmupTrial:
    """One launch from the seconds of its iterations."""
    places = range(len(steps))
    gauges = {
        gauge: list(accumulate(by_place.get(place, 0) for place in places))
        for gauge, by_place in (rises or {}).items()
    }
    iterations = []
    for place in places:
        risen = {gauge: getattr(BEFORE, gauge) + totals[place] for gauge, totals in gauges.items()}
        after = replace(BEFORE, **risen, spin_nanoseconds=(spins or {}).get(place, 50_000))
        iterations.append(
            Iteration(
                nanoseconds=tuple(round(steps[place] * share * 1e9) for share in shares),
                after=after,
                new_modules=(new_modules or {}).get(place, ()),
            )
        )
    return WarmupTrial(
        number=number,
        started=EPOCH + number,
        seconds=1.0,
        process=ProcessFacts(pid=1000 + number, started_by="fork-server", threads=1),
        layout=layout,
        before=BEFORE,
        iterations=tuple(iterations),
        seconds_per_fault=seconds_per_fault,
        failure=failure,
    )


def make_warmup(trials: Sequence[WarmupTrial], *, iterations: int = 30) -> WarmupRecording:
    return WarmupRecording(
        case=CASE,
        iterations=iterations,
        settings=Settings(launches=len(trials)),
        environment=make_environment(),
        trials=tuple(trials),
    )


def slow_then_level(slow: Sequence[float], num: int = 30, *, seed: int = 0, level: float = MS) -> list[float]:
    """Some slow iterations, then a level with 1 % of noise."""
    noise = np.exp(np.random.default_rng(seed).normal(0.0, 0.01, num - len(slow)))
    return [*slow, *(level * noise).tolist()]


def example() -> WarmupRecording:
    """Five launches that compile in their first iteration and import something; one of them failed."""
    trials = [
        make_trial(
            slow_then_level([3.0 + number / 10, 2 * MS], num=50, seed=number),
            number=number,
            rises={
                "compilations": {0: 2},
                "compile_seconds": {0: 2.9 + number / 10},
                "modules": {0: 412},
                "minor_faults": {0: 9000, 1: 600},
            },
            new_modules={0: ("sympy", "torch", "triton")},
        )
        for number in range(5)
    ]
    broken = replace(trials[4], iterations=trials[4].iterations[:3], failure=make_failure(launch=4))
    return make_warmup([*trials[:4], broken], iterations=50)
