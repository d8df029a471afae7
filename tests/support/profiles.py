"""Synthetic profiles: traces and rounds whose every stamp is written down, without a profiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from stepmark.records.case import Case, Cell
from stepmark.records.outcome import Failure
from stepmark.records.profile import (
    Allocations,
    CostRecording,
    CostRound,
    ProfileRecording,
    Spans,
    Trace,
    TracingTrial,
    WeighingTrial,
)
from stepmark.records.sample import Layout, pack
from stepmark.records.settings import Settings
from stepmark.records.trial import ProcessFacts
from tests.support.recordings import make_environment
from tests.support.trials import EPOCH, make_failure

TRAIN = Layout(phases=("step", "forward", "backward"), primary="step", whole="step")
CASE = Case(variant="mine", cell=Cell(suite="layers", axes=(("features", 512),)))
PROCESS = ProcessFacts(pid=1000, started_by="fork-server", threads=1)
PERIOD = 1000
"""Microseconds from one iteration of the example to the next."""


class Named(NamedTuple):
    """A span in microseconds."""

    name: str
    start: float
    end: float
    track: int = 0

    def later(self, by: float) -> Named:
        return self._replace(start=self.start + by, end=self.end + by)


FORWARD, BACKWARD = Named("forward", 0, 100), Named("backward", 120, 300)
LINEAR, ADDMM, RELU = (
    Named("aten::linear", 10, 70),
    Named("aten::addmm", 20, 60),
    Named("aten::relu", 75, 90),
)
NODE = "AddmmBackward0"
EVALUATE = f"autograd::engine::evaluate_function: {NODE}"
OPERATIONS = (
    LINEAR,
    ADDMM,
    RELU,
    Named(EVALUATE, 130, 280),
    Named(NODE, 135, 275),
    Named("aten::mm", 140, 200),
    Named("aten::mm", 205, 265),
)
CHANGES = ((21.0, 4096), (76.0, 1024), (141.0, 2048), (199.0, -1024), (206.0, 2048), (310.0, -8192))
"""Moments and bytes; the last are given back between two iterations."""


def pack_spans(names: dict[str, int], spans: Sequence[Named]) -> Spans:
    return Spans(
        names=pack(names.setdefault(span.name, len(names)) for span in spans),
        starts=pack(round(span.start * 1000) for span in spans),
        ends=pack(round(span.end * 1000) for span in spans),
        tracks=pack(span.track for span in spans),
    )


def make_trace(
    phases: Sequence[Named],
    operations: Sequence[Named] = (),
    *,
    kernels: Sequence[Named] = (),
    launched_by: Sequence[int] = (),
    changes: Sequence[tuple[float, int]] = (),
) -> Trace:
    """Spans in the order of their starts."""
    names: dict[str, int] = {}
    return Trace(
        phases=pack_spans(names, phases),
        operations=pack_spans(names, operations),
        kernels=pack_spans(names, kernels),
        launched_by=pack(launched_by),
        allocations=Allocations(
            times=pack(round(moment * 1000) for moment, _ in changes),
            changes=pack(change for _, change in changes),
        ),
        names=tuple(names),
    )


def example_trace(iterations: int = 2) -> Trace:
    """The same iteration again and again: a linear layer and its backward pass."""
    offsets = [PERIOD * number for number in range(iterations)]
    return make_trace(
        [span.later(offset) for offset in offsets for span in (FORWARD, BACKWARD)],
        [span.later(offset) for offset in offsets for span in OPERATIONS],
        changes=[(moment + offset, change) for offset in offsets for moment, change in CHANGES],
    )


def make_weighing(
    ratio: float,
    *,
    number: int = 0,
    rounds: int = 6,
    layout: Layout = TRAIN,
    seconds: Sequence[float] = (3e-4, 1e-4, 1.8e-4),
    iterations: int = 2,
    noise: float = 0.01,
    failure: Failure | None = None,
) -> WeighingTrial:
    """One launch in which profiling makes every phase longer by this factor, on a drifting machine."""
    generator = np.random.default_rng(number)
    made = []
    for place in range(rounds):
        drift = 1.0 + 0.5 * place / rounds
        plain = np.array(seconds) * drift * np.exp(generator.normal(0.0, noise, len(seconds)))
        profiled = np.array(seconds) * drift * ratio * np.exp(generator.normal(0.0, noise, len(seconds)))
        made.append(
            CostRound(
                unprofiled=tuple(np.rint(plain * iterations * 1e9).astype(int).tolist()),
                profiled=tuple(np.rint(profiled * iterations * 1e9).astype(int).tolist()),
                profiled_first=bool(generator.random() < 0.5),
            )
        )
    return WeighingTrial(
        number=number,
        started=EPOCH + number,
        seconds=1.0,
        process=PROCESS,
        layout=layout,
        iterations=(iterations,) * len(layout.phases),
        rounds=tuple(made),
        failure=failure,
    )


def make_cost(launches: Sequence[WeighingTrial], case: Case = CASE) -> CostRecording:
    return CostRecording(
        case=case, rounds=6, settings=Settings(launches=len(launches)), launches=tuple(launches)
    )


def make_profile(
    trace: Trace | None, launches: Sequence[WeighingTrial] = (), *, failure: Failure | None = None
) -> ProfileRecording:
    return ProfileRecording(
        case=CASE,
        iterations=2,
        environment=make_environment(),
        tracing=TracingTrial(
            started=EPOCH, seconds=1.0, process=PROCESS, layout=TRAIN, trace=trace, failure=failure
        ),
        cost=make_cost(launches),
    )


def example() -> ProfileRecording:
    """Two traced iterations; five launches of the profiler's cost, of which the last one failed."""
    launches = [make_weighing(1.25, number=number) for number in range(5)]
    broken = replace(launches[4], rounds=launches[4].rounds[:3], failure=make_failure(launch=4))
    return make_profile(example_trace(), [*launches[:4], broken])


def example_on_device() -> ProfileRecording:
    """Kernels run behind the operations that launched them; one is launched by hand."""
    kernels = (
        Named("gemm", 30, 62, 7),
        Named("handmade", 80, 84, 7),
        Named("gemm", 150, 210, 7),
        Named("gemm", 210, 290, 7),
    )
    trace = make_trace(
        [FORWARD, BACKWARD], OPERATIONS, kernels=kernels, launched_by=(1, -1, 5, 6), changes=CHANGES
    )
    made = make_profile(trace, [make_weighing(1.1, number=number) for number in range(3)])
    cell = replace(CASE.cell, device="cuda")
    return replace(made, case=replace(CASE, cell=cell), iterations=1, trace_file="/traces/mine.json")
