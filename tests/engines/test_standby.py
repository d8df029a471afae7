"""The worker on standby, with real processes: called up for what comes next, and never beside a launch."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from stepmark.engines.local import LocalEngine, is_accelerator
from stepmark.engines.process import WorkerProcess
from stepmark.measure.assignment import LaunchAssignment, SoloAssignment
from stepmark.measure.protocol import Began
from stepmark.measure.requests import Solo, StandBy
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.settings import Isolation, Settings
from stepmark.records.source import FileSource
from stepmark.records.trial import LaunchTrial, SoloTrial

pytestmark = pytest.mark.process

TIGHT = """
import os
import time
import stepmark as sm
from torch import nn

suite = sm.Suite("tight", modes=["forward"])

@suite.variant(baseline=True)
def tight(c):
    with open({log!r}, "a") as log:
        log.write("x")
    first = os.path.getsize({log!r}) == 1
    layer = nn.Linear(8, 8)

    def fail(*_):
        time.sleep(1.0)  # until another stands by
        raise MemoryError("no room")

    if first:
        layer.register_forward_hook(fail)
    return sm.Step(layer, inputs=sm.randn(4, 8))
"""
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


class Waiting:
    """Workers that live between two assignments: processes in a session that they lead, but for those that
    were there before, of other tests."""

    def __init__(self) -> None:
        self._before = self._leaders()

    def __call__(self) -> set[int]:
        return self._leaders() - self._before

    def _leaders(self) -> set[int]:
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


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


def pids(trial: SoloTrial | LaunchTrial) -> set[int]:
    processes = [trial.process] if isinstance(trial, SoloTrial) else [lane.process for lane in trial.lanes]
    return {process.pid for process in processes if process is not None}


def test_who_stood_by_takes_what_comes_next_and_none_is_left_beside_a_launch(
    waiting: Waiting, engine: LocalEngine, quick: Settings, benches: Path
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


def test_lanes_with_turns_get_processes_of_their_own_and_nobody_waits_beside_them(
    waiting: Waiting, engine: LocalEngine, quick: Settings, benches: Path
) -> None:
    solo(engine, quick, benches)
    (standby,) = waiting()
    launched = launch(engine, replace(quick, isolation=Isolation.SEPARATE), benches)
    assert all(lane.failure is None for lane in launched.lanes)
    assert standby not in pids(launched)
    assert waiting() == set()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_who_does_not_begin_is_replaced_and_nothing_is_charged_to_the_case(
    waiting: Waiting, engine: LocalEngine, quick: Settings, benches: Path, number: int
) -> None:
    """It has ended, which the runner may not know yet; or it hangs. No other stands by in that run."""
    solo(engine, quick, benches)
    (standby,) = waiting()
    engine._standby._patience = 0.5
    os.kill(standby, number)
    second = solo(engine, quick, benches)
    assert second.failure is None
    assert standby not in pids(second)
    assert waiting() == set()
    assert solo(engine, quick, benches, "bare").failure is None
    assert waiting() == set()


def test_where_none_can_be_started_the_run_goes_on_without(
    engine: LocalEngine, quick: Settings, benches: Path
) -> None:
    def no_room(_: StandBy) -> WorkerProcess:
        raise OSError(24, "Too many open files")

    engine._standby._start = no_room
    assert solo(engine, quick, benches).failure is None
    assert not engine._standby.waits


def test_a_device_that_cannot_be_made_ready_is_told_of_by_nobody_who_stood_by(
    engine: LocalEngine, quick: Settings, benches: Path
) -> None:
    engine._standby.prepare("cuda:99")
    trial = solo(engine, quick, benches)
    assert trial.failure is None


def test_one_that_stood_by_says_what_that_took(engine: LocalEngine, quick: Settings, benches: Path) -> None:
    source = FileSource(path=str(benches / "bench_plain.py"))
    request = Solo(source=source, case=Case(variant="dense", cell=FORWARD), settings=quick, seed="0")
    engine._standby.prepare("cpu")
    worker = engine._standby.call_up(request)
    assert worker is not None
    try:
        worker.join(lambda: None)
        (began,) = [event for event in worker.events if isinstance(event, Began)]
        assert began.spent_before > 0.0
        assert worker.finished is not None
    finally:
        worker.close()


def test_a_case_without_room_beside_one_that_stands_by_passes_again_without(
    engine: LocalEngine, quick: Settings, tmp_path: Path
) -> None:
    """The second time it finds room: the context of the other may have been what was missing."""
    bench, log = tmp_path / "bench_tight.py", tmp_path / "passes"
    bench.write_text(TIGHT.format(log=str(log)))
    cell = Cell(suite="tight", mode=Mode.FORWARD)
    case = Case(variant="tight", cell=cell)
    assignment = SoloAssignment(case=case, source=FileSource(path=str(bench)), settings=quick)
    trial = engine.perform(assignment)
    assert isinstance(trial, SoloTrial)
    assert trial.failure is None
    assert log.read_text() == "xx"
    assert not engine._standby.waits


def test_an_engine_that_closes_leaves_nobody_waiting(
    waiting: Waiting, quick: Settings, benches: Path
) -> None:
    engine = LocalEngine(quick, worth_a_standby=lambda _: True)
    solo(engine, quick, benches)
    (standby,) = waiting()
    engine.close()
    assert not psutil.pid_exists(standby)


def test_on_a_cpu_nobody_stands_by(waiting: Waiting, quick: Settings, benches: Path) -> None:
    """Beside a pass alone on two cores it would take a part of them, to save milliseconds."""
    assert not is_accelerator("cpu")
    assert is_accelerator("cuda:1")
    engine = LocalEngine(quick)
    try:
        solo(engine, quick, benches)
        assert waiting() == set()
    finally:
        engine.close()
