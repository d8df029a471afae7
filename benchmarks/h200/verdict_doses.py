"""Doses of the GPU study: how many cycles, or turns, make a call so much slower, and what they really made.

Counted apart from stepmark's clock: plain and slowed calls in long runs between two events, alternating, in
one process, graphs holding as many calls as stepmark's do; the amount is corrected until the ratio is the
wanted one, and the last ratio is what was injected.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence

import torch

from benchmarks.h200.verdict_workloads import WORKLOADS, Call, slowed
from stepmark.instruments.graph_capture import REPEATS

CYCLES_A_SECOND = 1.9e9
TURNS_A_SECOND = 5e7
SECONDS = 0.02
"""Of one run of calls."""
RUNS = 9


def counted(name: str, dose: float) -> dict[str, float | int | str]:
    """The amount that slows the workload by the dose, and the ratio that it was counted to make."""
    workload, device = WORKLOADS[name], torch.device("cuda")
    plain = _ready(slowed(workload, device, 0), graph=workload.graph)
    replayed = _seconds(plain, 20)
    calls = max(5, int(SECONDS / replayed))
    seconds = replayed / (REPEATS if workload.graph else 1)
    amount = round(dose * seconds * (TURNS_A_SECOND if workload.on_host else CYCLES_A_SECOND))
    ratio = 1.0
    for _ in range(3):
        other = _ready(slowed(workload, device, amount), graph=workload.graph)
        ratio = _ratio(plain, other, calls)
        if abs(ratio - 1.0 - dose) < 0.05 * dose or ratio <= 1.0:
            break
        amount = round(amount * dose / (ratio - 1.0))
    else:
        ratio = _ratio(plain, _ready(slowed(workload, device, amount), graph=workload.graph), calls)
    return {"workload": name, "dose": dose, "amount": amount, "counted": ratio - 1.0, "seconds": seconds}


def _ready(call: Call, *, graph: bool) -> Call:
    if not graph:
        for _ in range(3):
            call()
        return call
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        for _ in range(REPEATS):
            call()

    def replay(_: Call = call) -> None:
        """Keeps what the graph reads and writes alive: the next capture gives unused memory back."""
        captured.replay()

    return replay


def _ratio(plain: Call, other: Call, calls: int) -> float:
    return statistics.median(_seconds(other, calls) / _seconds(plain, calls) for _ in range(RUNS))


def _seconds(call: Call, calls: int) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    for _ in range(max(2, calls // 10)):
        call()
    begin.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) * 1e-3 / calls


def count_elsewhere(names: Sequence[str], dose: float) -> dict[str, dict[str, float | int | str]]:
    """In a process of its own, which is gone before anything is measured."""
    command = [sys.executable, "-m", "benchmarks.h200.verdict_doses", str(dose), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return {row["workload"]: row for row in map(json.loads, done.stdout.splitlines())}


if __name__ == "__main__":
    for given in sys.argv[2:]:
        print(json.dumps(counted(given, float(sys.argv[1]))), flush=True)
