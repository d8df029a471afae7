"""Watchers in real launches: memory and compilations by lane, the machine's counters, ceilings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from stepmark.engines.local import LocalEngine
from stepmark.measure.assignment import LaunchAssignment
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.sample import unpack
from stepmark.records.settings import Isolation, Settings
from stepmark.records.source import FileSource
from stepmark.records.trial import LaneTrial, LaunchTrial

pytestmark = pytest.mark.process

CELL = Cell(suite="watched", mode=Mode.FORWARD)
SPIN = "print(flush=True)\nwhile True: pass"


def launch(engine: LocalEngine, settings: Settings, benches: Path, *variants: str) -> LaunchTrial:
    trial = engine.perform(
        LaunchAssignment(
            cell=CELL,
            number=0,
            cases=tuple(Case(variant=variant, cell=CELL) for variant in variants),
            source=FileSource(path=str(benches / "bench_watched.py")),
            settings=settings,
        )
    )
    assert isinstance(trial, LaunchTrial)
    return trial


def lane(trial: LaunchTrial, variant: str) -> LaneTrial:
    return next(each for each in trial.lanes if each.variant == variant)


@pytest.fixture(scope="module")
def longer(quick: Settings) -> Settings:
    return replace(quick, round_seconds=0.05, max_rounds=40, instance_seconds=10.0)


@pytest.mark.parametrize("isolation", Isolation)
def test_a_leak_is_its_lanes_own(
    engine: LocalEngine, longer: Settings, benches: Path, isolation: Isolation
) -> None:
    trial = launch(engine, replace(longer, isolation=isolation), benches, "quiet", "leaking")
    leaked, kept = (unpack(lane(trial, name).watch.own_bytes)[-1] for name in ("leaking", "quiet"))
    assert leaked > 1 << 17
    assert abs(kept) < leaked // 4
    whole = unpack(lane(trial, "leaking").watch.live_bytes)
    assert len(whole) > 3
    assert whole[-1] - whole[0] > 1 << 20


@pytest.mark.parametrize("isolation", Isolation)
def test_recompilations_are_counted_in_their_lane(
    engine: LocalEngine, longer: Settings, benches: Path, isolation: Isolation
) -> None:
    trial = launch(engine, replace(longer, isolation=isolation), benches, "quiet", "recompiling")
    assert all(each.failure is None for each in trial.lanes)
    watch = lane(trial, "recompiling").watch
    assert watch.compilations > 0
    assert watch.first_compiled is not None
    assert lane(trial, "quiet").watch.compilations == 0


def test_what_the_machine_did_meanwhile(engine: LocalEngine, longer: Settings, benches: Path) -> None:
    activity = launch(engine, longer, benches, "quiet").activity
    assert activity is not None
    if not Path("/proc/stat").exists():
        pytest.skip("/proc is not there")
    assert activity.others is not None
    assert activity.stolen is not None
    assert 0.0 <= activity.others <= (os.cpu_count() or 1) + 0.5
    assert 0.0 <= activity.stolen <= 1.0


def test_another_process_is_seen(engine: LocalEngine, longer: Settings, benches: Path) -> None:
    settings = replace(longer, round_seconds=0.3, max_rounds=2000)
    with subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE) as neighbour:
        assert neighbour.stdout is not None
        neighbour.stdout.readline()
        activity = launch(engine, settings, benches, "quiet").activity
        neighbour.kill()
    assert activity is not None
    assert activity.others is None or activity.others > 0.3


def test_ceilings_come_from_a_worker(engine: LocalEngine) -> None:
    ceilings = engine.ceilings("cpu")
    assert ceilings is not None
    assert (ceilings.device, ceilings.threads) == ("cpu", 1)
    assert ceilings.flops_per_second("float32")


def test_a_device_that_is_not_there_has_no_ceilings(engine: LocalEngine) -> None:
    assert engine.ceilings("cuda:63") is None
