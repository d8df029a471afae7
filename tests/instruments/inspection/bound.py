"""Workloads bound, stepped a few times and inspected in this process, as a solo pass does it."""

from __future__ import annotations

from typing import Any

from stepmark.authoring.suite import Variant
from stepmark.instruments.torch_binding import bind
from stepmark.instruments.torch_clock import TorchInstrument
from stepmark.measure.program import Program
from stepmark.measure.sampler import run_block
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.inspection import Inspection, PhaseInspection


def stepped(workload: Any, mode: Mode = Mode.TRAIN, *, dtype: str = "float32", steps: int = 2) -> Program:
    cell = Cell(suite="mine", device="cpu", dtype=dtype, mode=mode)
    variant = Variant(name="mine", build=lambda c: workload, baseline=True)
    program = bind(variant, Case(variant="mine", cell=cell), seed=1)
    for _ in range(steps):
        run_block(program, (1,) * len(program.layout.phases), TorchInstrument())
    return program


def inspected(workload: Any, mode: Mode = Mode.TRAIN, *, dtype: str = "float32") -> Inspection:
    program = stepped(workload, mode, dtype=dtype)
    assert program.examine is not None
    inspection = program.examine()
    assert inspection.problem == ""
    return inspection


def phase(inspection: Inspection, name: str) -> PhaseInspection:
    (found,) = [one for one in inspection.phases if one.phase == name]
    return found
