"""Chrome traces as torch writes them: which events are read, and as what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stepmark.analysis.profile import summarize_profile
from stepmark.instruments.chrome_trace import read_chrome_trace
from stepmark.records.profile import Spans, Trace
from stepmark.records.sample import unpack
from tests.support.profiles import make_profile

PHASES = ("forward", "backward")


def span(cat: str, name: str, ts: float, dur: float, *, tid: int | str = 1, **args: Any) -> dict[str, Any]:
    """torch's own spelling: `External id` and the like are keys with spaces."""
    named = {key.replace("_", " "): value for key, value in args.items()}
    return {"ph": "X", "cat": cat, "name": name, "pid": 9, "tid": tid, "ts": ts, "dur": dur, "args": named}


def memory(ts: float, num_bytes: int, device_type: int = 0) -> dict[str, Any]:
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "pid": 9,
        "tid": 1,
        "ts": ts,
        "args": {"Bytes": num_bytes, "Device Type": device_type, "Device Id": -1, "Addr": 7, "Ev Idx": 1},
    }


EVENTS = [
    {"name": "process_name", "ph": "M", "ts": 5000.0, "pid": 9, "tid": 0, "args": {"name": "python"}},
    {"ph": "X", "cat": "Trace", "ts": 5000.0, "dur": 900.0, "pid": "Spans", "tid": "Profiler", "name": "x"},
    span("user_annotation", "phase:backward", 5200.5, 100.0),
    span("user_annotation", "phase:forward", 5100.0, 50.0),
    span("user_annotation", "phase:other", 5100.0, 50.0),
    span("user_annotation", "Optimizer.step#SGD.step", 5210.0, 50.0),
    span("cpu_op", "Torch-Compiled Region: 0/0", 5120.0, 20.0, External_id=5),
    span("cpu_op", "aten::mm", 5110.25, 5.0, External_id=4, Ev_Idx=3),
    span("cpu_op", "aten::linear", 5110.25, 9.0, External_id=3),
    span("cpu_op", "profiler::_record_function_enter_new", 5099.0, 0.5, External_id=1),
    span("kernel", "gemm", 5130.0, 10.0, tid=7, External_id=4, correlation=11),
    span("gpu_memset", "Memset", 5131.0, 1.0, tid=8, correlation=12),
    span("gpu_user_annotation", "phase:forward", 5100.0, 50.0, tid=7),
    span("cuda_runtime", "cudaLaunchKernel", 5111.0, 2.0, External_id=4, correlation=11),
    {"ph": "s", "cat": "ac2g", "id": 11, "pid": 9, "tid": 1, "ts": 5111.0, "name": "ac2g"},
    memory(5112.0, 4096),
    memory(5111.0, -64),
    memory(5113.0, 512, device_type=1),
    {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 5900.0},
]  # fmt: skip


def read(events: list[dict[str, Any]], *, on_device: bool = False) -> Trace:
    text = json.dumps({"schemaVersion": 1, "traceEvents": events, "traceName": "x"}).encode()
    return read_chrome_trace(text, PHASES, on_device=on_device, held_bytes=77)


def rows(trace: Trace, spans: Spans) -> list[tuple[str, int, int]]:
    columns = (unpack(spans.names), unpack(spans.starts), unpack(spans.ends))
    return [(trace.names[name], start, end) for name, start, end in zip(*columns, strict=True)]


def test_phases_operations_and_kernels_in_the_order_of_their_starts() -> None:
    trace = read(EVENTS)
    assert rows(trace, trace.phases) == [("forward", 0, 50_000), ("backward", 100_500, 200_500)]
    assert rows(trace, trace.operations) == [
        ("aten::linear", 10_250, 19_250),
        ("aten::mm", 10_250, 15_250),
        ("Torch-Compiled Region: 0/0", 20_000, 40_000),
    ]
    assert rows(trace, trace.kernels) == [("gemm", 30_000, 40_000), ("Memset", 31_000, 32_000)]
    assert trace.held_bytes == 77


def test_kernels_know_the_operation_that_launched_them() -> None:
    assert unpack(read(EVENTS).launched_by).tolist() == [1, -1]


def test_a_kernel_without_an_operation_is_nobodys_even_where_operations_have_no_number() -> None:
    events = [
        span("user_annotation", "phase:forward", 0.0, 10.0),
        span("cpu_op", "aten::add", 1.0, 2.0),
        span("kernel", "a", 2.0, 2.0),
        span("kernel", "b", 2.5, 2.0, External_id=0),
        span("kernel", "c", 3.0, 2.0, External_id=99),
    ]
    assert unpack(read(events).launched_by).tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    ("on_device", "times", "changes"), [(False, [11_000, 12_000], [-64, 4096]), (True, [13_000], [512])]
)
def test_allocations_are_the_devices_own_in_order(
    on_device: bool, times: list[int], changes: list[int]
) -> None:
    allocations = read(EVENTS, on_device=on_device).allocations
    assert unpack(allocations.times).tolist() == times
    assert unpack(allocations.changes).tolist() == changes


def test_threads_and_streams_are_numbered() -> None:
    trace = read(EVENTS)
    assert len(set(unpack(trace.kernels.tracks))) == 2
    assert set(unpack(trace.operations.tracks)) == set(unpack(trace.phases.tracks))


def test_a_trace_without_phases_is_refused() -> None:
    with pytest.raises(RuntimeError, match="none of the phases"):
        read([span("cpu_op", "aten::mm", 1.0, 2.0)])


def test_a_trace_of_a_real_accelerator() -> None:
    """One training step of two linear layers with gelu between them; 1024 rows, 512 features, 2048 inside;
    torch 2.11 on an H200."""
    text = (Path(__file__).parent / "cuda_trace.json").read_bytes()
    phases = ("forward", "loss", "backward", "optimizer")
    summary = summarize_profile(make_profile(read_chrome_trace(text, phases, on_device=True)))
    assert summary is not None
    assert summary.on_device
    found = {phase.phase: phase for phase in summary.phases}
    assert list(found) == list(phases)
    calls = {name: {row.name: row.calls for row in phase.operations} for name, phase in found.items()}
    assert (calls["forward"]["aten::addmm"], calls["forward"]["aten::gelu"]) == (2, 1)
    assert calls["backward"]["aten::mm"] == 3, "launched from a thread of autograd's own"
    assert calls["optimizer"]["aten::_foreach_addcdiv_"] == 1
    for phase in found.values():
        assert phase.device_idle is not None
        kernels = sum(row.share for row in phase.operations)
        assert kernels + phase.device_idle.share == pytest.approx(1.0, abs=0.01)
        assert 0.0 < kernels < 1.0
    activations = 1024 * 2048 * 4
    forward = summary.memory.phases[0]
    assert 2 * activations <= forward.peak_bytes < 2.5 * activations
    assert summary.memory.peak_phase == "backward"
