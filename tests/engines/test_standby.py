"""The worker on standby, with real processes: called up for what comes next, and never beside a launch."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from stepmark.engines.local import LocalEngine, is_accelerator
from stepmark.measure.assignment import LaunchAssignment, SoloAssignment
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.settings import Isolation, Settings
from stepmark.records.source import FileSource
from stepmark.records.trial import LaunchTrial, SoloTrial

pytestmark = pytest.mark.process

FORWARD = Cell(suite="plain", axes=(("features", 16),), mode=Mode.FORWARD)


@pytest.fixture(params=["fork", "spawn"])
def engine(request: pytest.FixtureRequest, quick: Settings) -> Iterator[LocalEngine]:
    """As on an accelerator."""
    settings = replace(quick, timeout=60.0)
    engine = LocalEngine(settings, start=request.param, worth_a_standby=lambda _: True)
    yield engine
    engine.close()


def solo(engine: LocalEngine, settings: Settings, benches: Path, variant: str = "dense") -> SoloTrial:
    source = FileSource(path=str(benches / "bench_plain.py"))
    case = Case(variant=variant, cell=FORWARD)
    trial = engine.perform(SoloAssignment(case=case, source=source, settings=settings))
    assert isinstance(trial, SoloTrial)
    return trial


def launch(engine: LocalEngine, settings: Settings, benches: Path) -> LaunchTrial:
    cases = tuple(Case(variant=variant, cell=FORWARD) for variant in ("dense", "bare"))
    source = FileSource(path=str(benches / "bench_plain.py"))
    trial = engine.perform(
        LaunchAssignment(cell=FORWARD, number=0, cases=cases, source=source, settings=settings)
    )
    assert isinstance(trial, LaunchTrial)
    return trial


def waiting() -> set[int]:
    """Workers that live between two assignments: processes of ours in a session that they lead."""
    found = set()
    for child in psutil.Process().children(recursive=True):
        try:
            leads = os.getsid(child.pid) == child.pid
            if leads and child.status() != psutil.STATUS_ZOMBIE and not _is_server(child):
                found.add(child.pid)
        except (psutil.Error, ProcessLookupError):
            continue
    return found


def _is_server(process: psutil.Process) -> bool:
    """Forked workers have its command line too, but it for a parent."""
    return "forkserver" in " ".join(process.cmdline()) and process.ppid() == os.getpid()


def pids(trial: SoloTrial | LaunchTrial) -> set[int]:
    processes = [trial.process] if isinstance(trial, SoloTrial) else [lane.process for lane in trial.lanes]
    return {process.pid for process in processes if process is not None}


def test_who_stood_by_takes_what_comes_next_and_none_is_left_beside_a_launch(
    engine: LocalEngine, quick: Settings, benches: Path
) -> None:
    first = solo(engine, quick, benches)
    (standby,) = waiting()
    second = solo(engine, quick, benches, "bare")
    (next_standby,) = waiting()
    launched = launch(engine, quick, benches)
    assert first.failure is None
    assert second.failure is None
    assert (pids(second), pids(launched)) == ({standby}, {next_standby})
    assert all(lane.failure is None and lane.samples for lane in launched.lanes)
    assert waiting() == set()
    assert second.evidence is not None
    assert first.evidence is not None
    assert replace(second.evidence.layout) == first.evidence.layout


def test_lanes_with_turns_get_processes_of_their_own_and_nobody_waits_beside_them(
    engine: LocalEngine, quick: Settings, benches: Path
) -> None:
    solo(engine, quick, benches)
    (standby,) = waiting()
    launched = launch(engine, replace(quick, isolation=Isolation.SEPARATE), benches)
    assert all(lane.failure is None for lane in launched.lanes)
    assert standby not in pids(launched)
    assert waiting() == set()


def test_one_that_has_ended_while_it_waited_is_replaced(
    engine: LocalEngine, quick: Settings, benches: Path
) -> None:
    solo(engine, quick, benches)
    (standby,) = waiting()
    os.kill(standby, signal.SIGKILL)
    deadline = time.monotonic() + 5.0
    while waiting() and time.monotonic() < deadline:
        time.sleep(0.01)
    second = solo(engine, quick, benches)
    assert second.failure is None
    assert standby not in pids(second)


def test_an_engine_that_closes_leaves_nobody_waiting(quick: Settings, benches: Path) -> None:
    engine = LocalEngine(quick, worth_a_standby=lambda _: True)
    solo(engine, quick, benches)
    (standby,) = waiting()
    engine.close()
    assert not psutil.pid_exists(standby)


def test_on_a_cpu_nobody_stands_by(quick: Settings, benches: Path) -> None:
    """Beside a pass alone on two cores it would take a part of them, to save milliseconds."""
    assert not is_accelerator("cpu")
    assert is_accelerator("cuda:1")
    engine = LocalEngine(quick)
    try:
        solo(engine, quick, benches)
        assert waiting() == set()
    finally:
        engine.close()
