"""The local engine when processes of its family die: the server, the runner, workers with children."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from stepmark.engines.local import LocalEngine
from stepmark.engines.process import Descriptors
from stepmark.measure.assignment import LaunchAssignment, SoloAssignment
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.outcome import Cause, Outcome
from stepmark.records.settings import Isolation, Settings
from stepmark.records.source import FileSource
from stepmark.records.trial import LaunchTrial, SoloTrial

pytestmark = [pytest.mark.process, pytest.mark.beside]

CELL = Cell(suite="family", mode=Mode.FORWARD)
RUNNER = """
import sys
from stepmark.engines.local import LocalEngine
from tests.engines.test_local_family import solo
from stepmark.records.settings import Settings
from pathlib import Path
solo(LocalEngine(Settings(threads=1)), Settings(threads=1), Path(sys.argv[1]), sys.argv[2])
"""


def solo(engine: LocalEngine, settings: Settings, bench: Path, variant: str) -> SoloTrial:
    case = Case(variant=variant, cell=CELL)
    trial = engine.perform(SoloAssignment(case=case, source=FileSource(path=str(bench)), settings=settings))
    assert isinstance(trial, SoloTrial)
    return trial


@pytest.fixture
def tag(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """Whatever workers start from now on has it in its environment."""
    monkeypatch.setenv("STEPMARK_TEST_TAG", str(tmp_path))
    yield str(tmp_path)
    for child in children(str(tmp_path)):
        child.kill()


@pytest.fixture
def bench(benches: Path) -> Path:
    return benches / "bench_family.py"


def within(seconds: float, true: Callable[[], object]) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(true())


def children(tag: str) -> list[psutil.Process]:
    """What workers started: found by its tag, wherever the death of its parent has moved it."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.name() == "sleep" and process.environ().get("STEPMARK_TEST_TAG") == tag:
                found.append(process)
        except psutil.Error:
            continue
    return found


def kill(pid: int) -> None:
    """And wait until it is dead; somebody else will want to know how it ended."""
    os.kill(pid, signal.SIGKILL)
    assert within(10, lambda: has_ended(pid))


def has_ended(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_server_that_ended_between_trials_is_replaced(quick: Settings, bench: Path) -> None:
    local = LocalEngine(quick)
    try:
        assert solo(local, quick, bench, "plain").failure is None
        assert local._fork is not None
        kill(local._fork.pid)
        trials = [solo(local, quick, bench, "plain") for _ in range(2)]
    finally:
        local.close()
    assert [trial.failure for trial in trials] == [None, None]
    assert {trial.process.started_by for trial in trials if trial.process} == {"fork-server"}
    told = ["the fork server had ended (killed by SIGKILL)" in trial.output for trial in trials]
    assert told == [True, False], "the first worker of the new one says where it comes from"


def test_a_server_that_ends_while_a_worker_runs_costs_that_trial(quick: Settings, bench: Path) -> None:
    local = LocalEngine(quick)
    try:
        trial = solo(local, quick, bench, "kills_the_server")
        after = solo(local, quick, bench, "plain")
    finally:
        local.close()
    assert trial.failure is not None
    assert (trial.failure.outcome, trial.failure.cause) == (Outcome.CRASHED, Cause.SIGNAL)
    assert "the fork server ended (killed by SIGKILL), and this worker with it" in trial.failure.output
    assert after.failure is None


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_what_a_worker_leaves_behind_ends_with_it(quick: Settings, bench: Path, start: str, tag: str) -> None:
    local = LocalEngine(quick, start=start)
    try:
        assert solo(local, quick, bench, "leaves_a_child").failure is None
        assert within(5, lambda: not children(tag))
    finally:
        local.close()


@pytest.mark.parametrize("standby", [False, True])
def test_what_a_worker_leaves_behind_in_a_session_of_its_own_ends_with_it(
    quick: Settings, bench: Path, tag: str, standby: bool
) -> None:
    """Twice: after the first the server imports what it needed, and what lives then is spared."""
    local = LocalEngine(quick, worth_a_standby=lambda _: standby)
    try:
        for _ in range(2):
            assert solo(local, quick, bench, "leaves_a_daemon").failure is None
            assert within(5, lambda: not children(tag))
            assert local._standby.waits is standby, "who stands by is no orphan"
    finally:
        local.close()


@pytest.mark.parametrize("variant", ["stays_with_a_child", "stays_with_a_daemon"])
def test_what_a_worker_started_ends_with_a_runner_that_is_killed(bench: Path, tag: str, variant: str) -> None:
    """The server is stopped meanwhile: whatever it is told then, it hears first when it goes on."""
    root = Path(__file__).parents[2]
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(bench), variant], cwd=root)
    assert within(60, lambda: children(tag))
    (server,) = psutil.Process(runner.pid).children()
    server.suspend()
    runner.kill()
    runner.wait()
    with contextlib.suppress(psutil.NoSuchProcess):
        server.resume()
    assert within(5, lambda: not children(tag))
    assert within(10, lambda: has_ended(server.pid))


def test_a_lane_whose_process_ends_with_a_command_unread_is_one_lane(
    quick: Settings, benches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(quick, isolation=Isolation.SEPARATE)
    stopped: list[int] = []

    def kill_what_was_stopped() -> None:
        while stopped:
            os.kill(stopped.pop(), signal.SIGKILL)

    local = LocalEngine(settings, tick=kill_what_was_stopped)
    assert local._fork is not None
    start = local._fork.start

    def start_and_stop_the_first(descriptors: Descriptors, *, stands_by: bool = False) -> int:
        pid = start(descriptors, stands_by=stands_by)
        monkeypatch.setattr(local._fork, "start", start)
        os.kill(pid, signal.SIGSTOP)
        stopped.append(pid)
        return pid

    monkeypatch.setattr(local._fork, "start", start_and_stop_the_first)
    cell = Cell(suite="plain", mode=Mode.FORWARD, axes=(("features", 16),))
    try:
        trial = local.perform(
            LaunchAssignment(
                cell=cell,
                number=0,
                cases=tuple(Case(variant=variant, cell=cell) for variant in ("dense", "bare")),
                source=FileSource(path=str(benches / "bench_plain.py")),
                settings=settings,
            )
        )
    finally:
        local.close()
    assert isinstance(trial, LaunchTrial)
    dense, bare = trial.lanes
    assert dense.failure is not None
    assert (dense.failure.cause, dense.failure.message) == (Cause.SIGNAL, "killed by SIGKILL")
    assert bare.failure is None
    assert bare.samples[0].num_blocks >= quick.min_rounds
