"""The kernel's OOM killer, for real where a memory group can be made; and its counters, from files."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepmark.engines import oom

MEMORY = Path("/sys/fs/cgroup/memory")
LIMIT = 1 << 30


@pytest.fixture
def small_group() -> Iterator[Path]:
    """A control group with little memory, in version 1 or 2 of the kernel's interface."""
    base, limit = (MEMORY, "memory.limit_in_bytes") if MEMORY.is_dir() else (MEMORY.parent, "memory.max")
    group = base / f"stepmark-test-{uuid.uuid4().hex[:8]}"
    try:
        group.mkdir()
        (group / limit).write_text(str(LIMIT))
    except OSError as error:
        if group.exists():
            group.rmdir()
        pytest.skip(f"no memory group can be made here: {error}")
    yield group
    group.rmdir()


PROGRAM = """
import json, sys
from stepmark.engines.local import LocalEngine
from stepmark.measure.assignment import LaunchAssignment, SoloAssignment
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.settings import Settings
from stepmark.records.source import FileSource
open(sys.argv[2] + "/cgroup.procs", "w").write("0")
settings = Settings(timeout=60.0, min_rounds=80, max_rounds=80)
cell = Cell(suite="memory", mode=Mode.FORWARD)
source = FileSource(path=sys.argv[1])
engine = LocalEngine(settings)
results = []
for variant in ("greedy", "modest", "late"):
    case = Case(variant=variant, cell=cell)
    trial = engine.perform(SoloAssignment(case=case, source=source, settings=settings))
    results.append([trial.outcome, trial.failure.cause if trial.failure else None])
cases = tuple(Case(variant=variant, cell=cell) for variant in ("modest", "late"))
trial = engine.perform(LaunchAssignment(cell=cell, number=0, cases=cases, source=source, settings=settings))
for lane in trial.lanes:
    kept = lane.samples[0].num_blocks > 0
    results.append([lane.variant, lane.failure.cause if lane.failure else None, kept])
engine.close()
print(json.dumps(results))
"""
BENCH = """
import time
import stepmark as sm
suite = sm.Suite("memory", modes=["forward"])
@suite.variant(baseline=True)
def modest(c):
    return sm.Step(lambda x: x + 1, inputs=sm.randn(8))
@suite.variant
def greedy(c):
    return sm.Step(lambda x: bytearray(b"x") * (4 << 30), inputs=sm.randn(8))
@suite.variant
def late(c):
    calls = iter(range(70))  # some 30 in the warm-up, one in each of 80 rounds
    def run(x):
        time.sleep(0.002)
        return bytearray(b"x") * (4 << 30) if next(calls, None) is None else x
    return sm.Step(run, inputs=sm.randn(8))
"""


@pytest.mark.process
def test_an_oom_kill_is_the_cases_outcome_alone_and_in_company(small_group: Path, tmp_path: Path) -> None:
    bench = tmp_path / "bench_memory.py"
    bench.write_text(BENCH)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(bench), str(small_group)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        ["out-of-memory", "oom-killer"],
        ["measured", None],
        ["measured", None],
        ["modest", None, True],
        ["late", "oom-killer", True],
    ]


def test_the_counters_are_read_from_the_kernel_and_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vmstat, events = tmp_path / "vmstat", tmp_path / "memory.events"
    vmstat.write_text("pgfault 12\noom_kill 3\n")
    events.write_text("low 0\noom 9\noom_kill 4\n")
    monkeypatch.setattr(oom, "_counters", lambda: [vmstat, events, tmp_path / "missing"])
    assert oom.oom_kills() == 7
