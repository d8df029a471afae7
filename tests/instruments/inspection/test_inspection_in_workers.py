"""The inspection in real solo passes: evidence of built-in suites and bench files, from fresh processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from stepmark.engines.local import LocalEngine
from stepmark.measure.assignment import SoloAssignment
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.evidence import Evidence
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource, FileSource, Source
from stepmark.records.trial import SoloTrial

pytestmark = pytest.mark.process


def evidence(engine: LocalEngine, settings: Settings, source: Source, case: Case) -> Evidence:
    trial = engine.perform(SoloAssignment(case=case, source=source, settings=settings))
    assert isinstance(trial, SoloTrial)
    assert trial.evidence is not None, trial
    return trial.evidence


def test_a_builtin_case_is_inspected(engine: LocalEngine, quick: Settings) -> None:
    cell = Cell(suite="demo", axes=(("features", 128),), mode=Mode.TRAIN)
    found = evidence(engine, quick, BuiltinSource(name="demo"), Case(variant="dense", cell=cell))
    inspection = found.inspection
    assert inspection is not None
    assert inspection.problem == ""
    product = 2 * 64 * 128 * 128
    assert [one.flops for one in inspection.phases] == [product, 0, product, 0]
    assert inspection.memory.before_build == 0
    assert inspection.memory.foreign == 0
    assert inspection.memory.own == found.parameter_bytes + found.optimizer_state_bytes + 2 * 64 * 128 * 4
    assert found.declared.optimizer
    assert found.conditions.threads >= 1


def test_without_an_audit_nothing_is_inspected(engine: LocalEngine, quick: Settings) -> None:
    cell = Cell(suite="demo", axes=(("features", 128),), mode=Mode.TRAIN)
    settings = replace(quick, audit=False)
    found = evidence(engine, settings, BuiltinSource(name="demo"), Case(variant="dense", cell=cell))
    assert found.inspection is None
    assert found.numbers == ()


LEFTOVERS = """
import torch
from torch import nn
from stepmark import Suite, Step, randn

TABLE = torch.ones(1000, 1000)
USED = torch.ones(64)
suite = Suite("left", modes=["forward"])
kept = []

@suite.variant(baseline=True)
def leftover(c):
    kept.append(nn.Linear(500, 500))
    layer = nn.Linear(64, 64)
    return Step(lambda x: layer(x * USED), inputs=randn(8, 64))

@suite.variant
def autocasts(c):
    layer = nn.Linear(64, 64)

    def forward(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return layer(x)

    return Step(forward, inputs=randn(8, 64))
"""


def test_memory_from_before_and_beside_the_case_is_told_apart(
    engine: LocalEngine, quick: Settings, tmp_path: Path
) -> None:
    bench = tmp_path / "bench_left.py"
    bench.write_text(LEFTOVERS)
    case = Case(variant="leftover", cell=Cell(suite="left", mode=Mode.FORWARD))
    found = evidence(engine, quick, FileSource(path=str(bench)), case).inspection
    assert found is not None
    assert found.memory.before_build == 1000 * 1000 * 4
    assert found.memory.foreign == (500 * 500 + 500) * 4


def test_autocast_inside_a_step_is_among_the_conditions(
    engine: LocalEngine, quick: Settings, tmp_path: Path
) -> None:
    bench = tmp_path / "bench_left.py"
    bench.write_text(LEFTOVERS)
    case = Case(variant="autocasts", cell=Cell(suite="left", mode=Mode.FORWARD))
    found = evidence(engine, quick, FileSource(path=str(bench)), case)
    assert found.conditions.autocast == ("bfloat16",)
    assert found.declared.autocast is None
