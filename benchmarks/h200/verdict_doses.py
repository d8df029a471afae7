"""Doses of the GPU study: how many cycles, or turns, make a call so much slower, and what they really made.

Counted apart from stepmark's clock: pairs of plain and slowed calls in long runs, in one process, first one
and then the other in front, graphs holding as many calls as stepmark's do, and of short operations one dose
for all of them: an amount is that of a call on the mean. Pairs are added until the standard error of their
median is a tenth of the dose. The amount is corrected until the ratio is the wanted one; what was injected is
then counted afresh. A step that waits for the host is timed by the host's clock from an idle device to an
idle device: between two events, turns could hide behind work that is still queued.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import torch

from benchmarks.h200.verdict_workloads import WORKLOADS, Call, slowed
from stepmark.instruments.graph_capture import REPEATS

CYCLES_A_SECOND = 1.9e9
TURNS_A_SECOND = 5e7
SECONDS = 0.02
"""Of one run of calls."""
LEAST_PAIRS, MOST_PAIRS = 8, 60
TRIES = 6
CLOSE = 0.05
"""Of the dose: an amount that was counted so close to it needs no correction."""
MOST_CORRECTION = 4.0
"""A ratio near 1, or below, says only that the amount is too small to be counted."""

Timer = Callable[[Call, int], float]


def counted(name: str, dose: float) -> dict[str, float | int | str]:
    """The amount that slows the workload by the dose, and the ratio that it was counted to make."""
    workload, device = WORKLOADS[name], torch.device("cuda")
    timer = _seconds_of_host if workload.on_host else _seconds
    plain = _ready(slowed(workload, device, 0), graph=workload.graph)
    replayed = timer(plain, 20)
    calls = max(5, int(SECONDS / replayed))
    seconds = replayed / (REPEATS if workload.graph else 1)
    first = round(dose * seconds * (TURNS_A_SECOND if workload.on_host else CYCLES_A_SECOND))

    def excess_of(amount: int) -> tuple[float, float]:
        other = _ready(slowed(workload, device, amount), graph=workload.graph)
        runs = partial(timer, plain, calls), partial(timer, other, calls)
        return paired_excess(*runs, precision=dose / 10)

    amount = settled(lambda amount: excess_of(amount)[0], first, dose)
    excess, error = excess_of(amount)
    found = {"amount": amount, "counted": excess, "counted_error": error, "seconds": seconds}
    return {"workload": name, "dose": dose, **found}


def settled(excess_of: Callable[[int], float], first: int, dose: float) -> int:
    """The amount that was counted nearest to the dose, each try corrected by the one before."""
    tried: dict[int, float] = {}
    amount = max(1, first)
    for _ in range(TRIES):
        excess = tried[amount] = excess_of(amount)
        if abs(excess - dose) < CLOSE * dose:
            break
        wanted = dose / excess if excess > 0 else math.inf
        factor = min(max(wanted, 1 / MOST_CORRECTION), MOST_CORRECTION)
        amount = max(1, round(amount * factor))
    return min(tried, key=lambda one: abs(tried[one] - dose))


def paired_excess(
    plain: Callable[[], float], other: Callable[[], float], *, precision: float
) -> tuple[float, float]:
    """The median of other / plain - 1 over pairs of runs, and its standard error.

    The error of a median is 1.25 standard deviations over the root of n, for normal errors; the deviation is
    taken from the median absolute one, which a pair that was disturbed does not move.
    """
    ratios: list[float] = []
    while True:
        runs = (plain(), other()) if len(ratios) % 2 else (other(), plain())[::-1]
        ratios.append(runs[1] / runs[0] - 1.0)
        middle = statistics.median(ratios)
        deviation = 1.4826 * statistics.median(abs(one - middle) for one in ratios)
        error = 1.2533 * deviation / math.sqrt(len(ratios))
        if len(ratios) >= MOST_PAIRS or (len(ratios) >= LEAST_PAIRS and error <= precision):
            return middle, error


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


def _seconds_of_host(call: Call, calls: int) -> float:
    for _ in range(max(2, calls // 10)):
        call()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / calls


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
