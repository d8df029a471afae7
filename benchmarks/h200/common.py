"""Timers, side by side; where they ran; and the JSON they are kept in."""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import torch

Call = Callable[[], object]
Timer = Callable[[Call], float]

DATA = Path(__file__).parent / "data"
CALLS_IN_A_GRAPH = 10
"""A replay by itself takes 5 µs."""
FLUSH_BYTES = 256 << 20
"""Five times an H200's L2."""


def time_eager(call: Call, seconds: float = 0.05) -> float:
    """Microseconds of one call from Python, calls in a row with one wait at their end."""
    call()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    number = max(3, min(2000, int(seconds / (time.perf_counter() - begin))))
    begin = time.perf_counter()
    for _ in range(number):
        call()
    torch.cuda.synchronize()
    return 1e6 * (time.perf_counter() - begin) / number


_graphs: dict[int, tuple[Call, torch.cuda.CUDAGraph]] = {}


def time_graph(call: Call, seconds: float = 0.02, calls: int = CALLS_IN_A_GRAPH) -> float:
    """Microseconds of one call in replays of a graph of several: no host time, warm L2. Graphs are kept."""
    if id(call) not in _graphs:
        _graphs[id(call)] = (call, captured(call, calls))
    return time_events(_graphs[id(call)][1].replay, seconds) / calls


def captured(call: Call, times: int = 1) -> torch.cuda.CUDAGraph:
    """The call's graph, after a warm-up on a side stream."""
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            call()
    return graph


def forget_graphs() -> None:
    """Free what time_graph keeps; between shapes."""
    _graphs.clear()
    torch.cuda.empty_cache()


def time_events(call: Call, seconds: float) -> float:
    """Microseconds of one call on the device, calls in a row between two events."""
    call()
    begin, end = _event(), _event()
    begin.record()
    call()
    end.record()
    end.synchronize()
    number = max(3, min(1000, int(1e3 * seconds / max(1e-3, begin.elapsed_time(end)))))
    begin.record()
    for _ in range(number):
        call()
    end.record()
    end.synchronize()
    return float(1e3 * begin.elapsed_time(end) / number)


def time_cold(call: Call, times: int = 10) -> float:
    """Median microseconds of one call between device events, the L2 overwritten before each, outside them."""
    buffer = _flush_buffer()
    pairs = [(_event(), _event()) for _ in range(times)]
    call()
    for begin, end in pairs:
        buffer.zero_()
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return float(statistics.median(1e3 * begin.elapsed_time(end) for begin, end in pairs))


def _event() -> Any:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


@cache
def _flush_buffer() -> torch.Tensor:
    return torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")


def side_by_side(
    calls: Mapping[str, Call], timer: Timer = time_graph, rounds: int = 5, seed: int = 0
) -> dict[str, float | None]:
    """Median microseconds over rounds in random order; None for a call that fails, with its error printed."""
    order = list(calls)
    spent: dict[str, list[float]] = {name: [] for name in order}
    shuffle = random.Random(seed)
    failed: set[str] = set()
    for _ in range(rounds):
        shuffle.shuffle(order)
        for name in [name for name in order if name not in failed]:
            try:
                spent[name].append(timer(calls[name]))
            except Exception as error:
                failed.add(name)
                print(f"{name}: {type(error).__name__}: {str(error).splitlines()[:1]}", flush=True)
    return {
        name: statistics.median(times) if times and name not in failed else None
        for name, times in spent.items()
    }


def relative_error(value: torch.Tensor, reference: torch.Tensor) -> float:
    """Norm of the difference over the norm of the reference, in float64; NaN where the value has one."""
    difference = value.detach().to("cpu", torch.float64) - reference.detach().to("cpu", torch.float64)
    return float(difference.norm() / reference.detach().cpu().double().norm().clamp_min(1e-300))


def environment() -> dict[str, Any]:
    """Device, clocks as found, versions and date."""
    import triton

    facts: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": torch.cuda.get_device_name(),
        "torch": str(torch.__version__),
        "triton": triton.__version__,
        "cuda": torch.version.cuda,
    }
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
        facts |= {
            "driver": pynvml.nvmlSystemGetDriverVersion(),
            "sm_mhz": pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
            "sm_mhz_most": pynvml.nvmlDeviceGetMaxClockInfo(handle, pynvml.NVML_CLOCK_SM),
            "memory_mhz": pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM),
            "celsius": pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
            "watts": pynvml.nvmlDeviceGetPowerUsage(handle) / 1000,
        }
    except Exception as error:  # a figure without clocks is still a figure; it says that they are missing
        facts["clocks"] = f"not known: {error}"
    return facts


def save(name: str, rows: list[dict[str, Any]], **more: Any) -> Path:
    """Into the folder that OUT names, else beside this file; with the environment."""
    folder = Path(os.environ["OUT"]) if os.environ.get("OUT") else DATA
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"environment": environment(), **more, "rows": rows}, indent=1) + "\n")
    return file
