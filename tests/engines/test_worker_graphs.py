"""How often a graph holds a short call: many times where it is timed, once where ranges stand around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepmark.engines import worker
from stepmark.engines.in_process import InProcessEngine
from stepmark.errors import Unsupported
from stepmark.instruments import torch_binding
from stepmark.instruments.graph_capture import REPEATS
from stepmark.measure.profile_assignment import TracingAssignment
from stepmark.measure.requests import Launch, TakeTrace, WeighProfiler
from stepmark.records.case import Case, Cell, Execution, Mode
from stepmark.records.settings import Settings
from stepmark.records.source import FileSource

BENCH = """
import stepmark as sm
from torch import nn

suite = sm.Suite("short", modes=["forward"])

@suite.variant(baseline=True)
def dense(c):
    return sm.Step(nn.Linear(4, 4), inputs=sm.randn(2, 4))
"""
CASE = Case(variant="dense", cell=Cell(suite="short", mode=Mode.FORWARD, execution=Execution.GRAPH))


@pytest.fixture
def captures(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    asked: list[int] = []

    def capture(*_: Any, repeats: int) -> None:
        asked.append(repeats)
        raise Unsupported("nothing here to capture it on")

    monkeypatch.setattr(torch_binding, "capture", capture)
    return asked


@pytest.fixture
def source(tmp_path: Path) -> FileSource:
    (tmp_path / "bench_short.py").write_text(BENCH)
    return FileSource(path=str(tmp_path / "bench_short.py"))


def test_a_launch_has_it_many_times(captures: list[int], source: FileSource) -> None:
    settings = Settings()
    worker._launch(Launch(source=source, cases=(CASE,), settings=settings, seed="0"), lambda _: None)
    assert captures == [REPEATS]


def test_a_profile_has_it_once(captures: list[int], source: FileSource) -> None:
    told: dict[str, Any] = {"source": source, "case": CASE, "settings": Settings(), "seed": "0"}
    worker._take_trace(TakeTrace(**told, iterations=2), lambda _: None)
    worker._weigh_profiler(WeighProfiler(**told, rounds=2), lambda _: None)
    engine = InProcessEngine(threads=None)
    engine.describe([source], "cpu")
    with pytest.raises(Unsupported):
        engine.iterate(
            TracingAssignment(case=CASE, iterations=2, source=source, settings=Settings(), nvtx=False)
        )
    assert captures == [1, 1, 1]
