"""The real profiler on a small module: ranges, spans, memory, and the file for Perfetto."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from stepmark.analysis.profile import summarize_profile
from stepmark.authoring.inputs import randn
from stepmark.authoring.suite import Variant
from stepmark.authoring.workload import Ops, Step
from stepmark.instruments.torch_binding import bind
from stepmark.instruments.torch_profile import TorchProfiler
from stepmark.instruments.torch_ranges import can_emit, captured_range, with_ranges
from stepmark.measure.program import Program
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.profile import PhaseProfile, ProfileSummary, Trace
from stepmark.records.sample import unpack
from tests.support.profiles import make_profile

FEATURES, BATCH = 96, 64


def bound(workload: Any, mode: Mode = Mode.TRAIN) -> Program:
    case = Case(variant="mine", cell=Cell(suite="layers", mode=mode))
    return bind(Variant(name="mine", build=lambda c: workload, baseline=True), case, seed=1)


def step() -> Step:
    return Step(
        nn.Sequential(nn.Linear(FEATURES, FEATURES), nn.ReLU()),
        inputs=randn(BATCH, FEATURES),
        target=randn(BATCH, FEATURES),
        loss=nn.functional.mse_loss,
        optimizer=torch.optim.SGD,
    )


def traced(program: Program, *, iterations: int = 2, file: str | None = None) -> Trace:
    profiler = TorchProfiler("cpu")
    annotated = profiler.annotate(program, wait=True)
    program.iterate()
    if program.prepare is not None:
        program.prepare()
    with profiler.recording():
        for _ in range(iterations):
            annotated.iterate()
    return profiler.trace(program.layout, file=file)


def summarized(trace: Trace) -> ProfileSummary:
    summary = summarize_profile(make_profile(trace))
    assert summary is not None
    return summary


def calls(phase: PhaseProfile) -> dict[str, float]:
    return {row.name: row.calls for row in phase.operations}


def test_every_phase_of_every_iteration_with_its_operations() -> None:
    summary = summarized(traced(bound(step())))
    assert not summary.on_device
    found = {phase.phase: phase for phase in summary.phases}
    assert list(found) == ["forward", "loss", "backward", "optimizer"]
    assert calls(found["forward"])["aten::addmm"] == 1
    assert calls(found["forward"])["aten::relu"] == 1
    assert calls(found["loss"])["aten::mse_loss"] == 1
    assert calls(found["backward"])["aten::mm"] == 1  # the input needs no gradient
    assert found["forward"].products_share > 0.0
    assert found["optimizer"].products_share == 0.0
    for phase in found.values():
        assert sum(row.share for row in phase.operations) + phase.idle.share == pytest.approx(1.0, abs=0.01)
        assert phase.idle.gaps >= 1


def test_memory_of_an_iteration() -> None:
    """Forward makes two activations and keeps relu's for its backward pass; backward makes the weight's
    gradient, with the gradients of both activations beside it."""
    activation, weight = BATCH * FEATURES * 4, FEATURES * FEATURES * 4
    memory = summarized(traced(bound(step()))).memory
    phases = {phase.phase: phase for phase in memory.phases}
    assert (phases["forward"].peak_bytes, phases["forward"].held_bytes) == (2 * activation, activation)
    assert memory.peak.num_bytes >= 2 * activation + weight
    assert memory.peak_phase == "backward"
    assert memory.peak_operation is not None
    assert activation + weight <= phases["optimizer"].held_bytes < phases["backward"].peak_bytes


def test_named_operations_are_phases() -> None:
    left, right = torch.randn(64, 64), torch.randn(64, 64)
    ops = Ops({"product": lambda: left @ right, "sum": lambda: left + right})
    summary = summarized(traced(bound(ops, Mode.OPS), iterations=3))
    product, added = summary.phases
    assert (product.phase, added.phase) == ("product", "sum")
    assert calls(product)["aten::mm"] == 1
    assert calls(added) == {"aten::add": 1}
    assert (product.products_share > 0, added.products_share) == (True, 0.0)


def test_inference_runs_without_gradients() -> None:
    (forward,) = summarized(traced(bound(Step(nn.Linear(8, 8), inputs=randn(4, 8)), Mode.FORWARD))).phases
    assert calls(forward)["aten::addmm"] == 1


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_the_file_is_a_chrome_trace_with_the_phases(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    trace = traced(bound(step()), file=str(file))
    text = file.read_bytes()
    document = json.loads(gzip.decompress(text) if name.endswith(".gz") else text)
    names = [event["name"] for event in document["traceEvents"] if event.get("cat") == "user_annotation"]
    for phase in ("forward", "loss", "backward", "optimizer"):
        assert names.count(f"phase:{phase}") == 2
    assert len(unpack(trace.phases.starts)) == 8
    assert any(event["name"] == "aten::addmm" for event in document["traceEvents"])
    assert any(event["name"] == "[memory]" for event in document["traceEvents"])


def test_a_recording_follows_another_and_only_the_last_is_kept() -> None:
    program = bound(step())
    profiler = TorchProfiler("cpu")
    annotated = profiler.annotate(program, wait=False)
    for iterations in (3, 1):
        with profiler.recording():
            for _ in range(iterations):
                annotated.iterate()
    assert len(unpack(profiler.trace(program.layout, file=None).phases.starts)) == 4


def test_an_annotated_program_computes_the_same() -> None:
    program = bound(step())
    annotated = TorchProfiler("cpu").annotate(program, wait=True)
    assert annotated.layout == program.layout
    assert annotated.inspect is not None
    annotated.iterate()
    assert annotated.inspect().output is not None


def test_no_nvtx_ranges_without_a_cuda_device() -> None:
    program = bound(step())
    assert not can_emit("cpu")
    assert with_ranges(program, "cpu") is program
    with captured_range("cpu"):
        program.iterate()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_kernels_of_a_cuda_device() -> None:
    case = Case(variant="mine", cell=Cell(suite="layers", device="cuda"))
    program = bind(Variant(name="mine", build=lambda c: step(), baseline=True), case, seed=1)
    profiler = TorchProfiler("cuda")
    annotated = profiler.annotate(with_ranges(program, "cuda"), wait=True)
    for _ in range(2):
        with captured_range("cuda"), profiler.recording():
            annotated.iterate()
    trace = profiler.trace(program.layout, file=None)
    assert trace.held_bytes > 0
    summary = summarized(trace)
    assert summary.on_device
    forward, _, backward, _ = summary.phases
    assert forward.device_idle is not None
    assert {"aten::addmm"} <= {row.name for row in forward.operations if row.self_seconds > 0}
    assert {"aten::mm"} <= {row.name for row in backward.operations if row.self_seconds > 0}
    assert summary.memory.peak.num_bytes >= 2 * BATCH * FEATURES * 4
