"""Profiles in real workers: a trace of a small step, and rounds with and without the profiler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from stepmark.analysis.profile_cost import cost_of_profiling
from stepmark.engines.local import LocalEngine
from stepmark.measure.profile_assignment import TracingAssignment, WeighingAssignment
from stepmark.records.case import Case, Cell
from stepmark.records.outcome import Stage
from stepmark.records.profile import CostRecording, TracingTrial, WeighingTrial
from stepmark.records.sample import unpack
from stepmark.records.settings import Settings
from stepmark.records.source import FileSource

pytestmark = pytest.mark.process

CELL = Cell(suite="profiled", axes=(("features", 64),))
ROUNDS = 12
"""Enough for the fastest of each kind to be undisturbed, on a busy machine too."""


def tracing(
    engine: LocalEngine, settings: Settings, benches: Path, variant: str, *, file: Path | None = None
) -> TracingTrial:
    return engine.trace(
        TracingAssignment(
            case=Case(variant=variant, cell=CELL),
            iterations=3,
            source=FileSource(path=str(benches / "bench_profile.py")),
            settings=settings,
            trace_file=str(file) if file else None,
            nvtx=True,
        )
    )


def weighing(
    engine: LocalEngine, settings: Settings, benches: Path, variant: str, *, number: int = 0
) -> WeighingTrial:
    return engine.weigh_profiler(
        WeighingAssignment(
            case=Case(variant=variant, cell=CELL),
            number=number,
            rounds=ROUNDS,
            source=FileSource(path=str(benches / "bench_profile.py")),
            settings=settings,
        )
    )


def test_a_trace_comes_back_and_is_written(
    engine: LocalEngine, quick: Settings, benches: Path, tmp_path: Path
) -> None:
    file = tmp_path / "trace.json"
    trial = tracing(engine, quick, benches, "dense", file=file)
    assert trial.failure is None
    assert trial.layout is not None
    assert trial.layout.phases == ("step", "forward", "loss", "backward", "optimizer")
    assert trial.trace is not None
    names = [trial.trace.names[name] for name in unpack(trial.trace.phases.names)]
    assert names == ["forward", "loss", "backward", "optimizer"] * 3
    annotations = {event["name"] for event in json.loads(file.read_text())["traceEvents"]}
    assert {"phase:forward", "phase:loss", "phase:backward", "phase:optimizer"} <= annotations


def test_rounds_come_back_from_fresh_processes(engine: LocalEngine, quick: Settings, benches: Path) -> None:
    launches = [weighing(engine, quick, benches, "dense", number=number) for number in range(2)]
    assert len({launch.process.pid for launch in launches if launch.process}) == 2
    for launch in launches:
        assert launch.failure is None
        assert len(launch.rounds) == ROUNDS
        assert len(launch.iterations) == 5
        assert all(min(each.unprofiled) > 0 and min(each.profiled) > 0 for each in launch.rounds)
    case = Case(variant="dense", cell=CELL)
    recording = CostRecording(case=case, rounds=ROUNDS, settings=quick, launches=tuple(launches))
    names = [cost.phase for cost in cost_of_profiling(recording)]
    assert names == ["step", "forward", "loss", "backward", "optimizer"]
    rounds = [each for launch in launches for each in launch.rounds]
    fastest = min(each.unprofiled[0] for each in rounds)
    assert min(each.profiled[0] for each in rounds) > fastest, "recording some sixty operations is not free"


def test_a_step_that_raises_while_it_warms_up(engine: LocalEngine, quick: Settings, benches: Path) -> None:
    for trial in (
        tracing(engine, quick, benches, "raises"),
        weighing(engine, quick, benches, "raises"),
    ):
        assert trial.failure is not None
        assert (trial.failure.stage, trial.failure.message) == (
            Stage.WARMUP,
            "RuntimeError: not a third time",
        )
        assert "bench_profile.py" in trial.failure.traceback
        assert trial.layout is None


def test_a_step_that_raises_under_the_profiler(engine: LocalEngine, quick: Settings, benches: Path) -> None:
    trial = tracing(engine, quick, benches, "dies_under_the_profiler")
    assert trial.failure is not None
    assert trial.failure.message == "RuntimeError: do not look at me"


def test_spawned_workers_do_the_same(quick: Settings, benches: Path) -> None:
    engine = LocalEngine(replace(quick, threads=1), start="spawn")
    try:
        trial = tracing(engine, quick, benches, "dense")
    finally:
        engine.close()
    assert trial.failure is None
    assert trial.process is not None
    assert trial.process.started_by == "spawn"
