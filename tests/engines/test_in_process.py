"""The engine without workers: a case in this very process, and nothing of the harness around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from stepmark.engines.in_process import WARMUP, InProcessEngine
from stepmark.measure.profile_assignment import TracingAssignment
from stepmark.records.case import Case, Cell
from stepmark.records.settings import Settings
from stepmark.records.source import FileSource

BENCH = """
import os
import stepmark as sm

suite = sm.Suite("plain", modes=["forward"])
with open(os.environ["SEEN"], "a") as seen:
    seen.write("i")

@suite.variant(baseline=True)
def counted(c):
    def run(x):
        with open(os.environ["SEEN"], "a") as seen:
            seen.write(".")
        return x
    return sm.Step(run, inputs=sm.randn(2))
"""


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bench_counted.py").write_text(BENCH)
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "seen"


def iterated(seen: Path, *, nvtx: bool) -> bool:
    engine = InProcessEngine(threads=torch.get_num_threads())
    source = FileSource(path=str(seen.parent / "bench_counted.py"))
    described = engine.describe([source], "cpu")
    (outline,) = described.suites
    cell = Cell(suite=outline.name, mode=outline.modes[0])
    return engine.iterate(
        TracingAssignment(
            case=Case(variant="counted", cell=cell),
            iterations=5,
            source=source,
            settings=Settings(),
            nvtx=nvtx,
        )
    )


def test_the_bench_file_is_imported_once_and_the_case_runs_plainly(seen: Path) -> None:
    assert not iterated(seen, nvtx=False)
    assert seen.read_text() == "i" + "." * (WARMUP + 5)


def test_ranges_are_not_claimed_where_there_is_no_device(seen: Path) -> None:
    assert not iterated(seen, nvtx=True)


def test_threads_are_set() -> None:
    before = torch.get_num_threads()
    try:
        InProcessEngine(threads=1)
        assert torch.get_num_threads() == 1
        unchanged: Any = InProcessEngine(threads=None)
        assert unchanged is not None
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
