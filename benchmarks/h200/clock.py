"""The event clock on a real device: its cost and steps, lags, cold caches, graphs, a known kernel, start-up.

python -m benchmarks.h200.clock                    all of it, about a minute
python -m benchmarks.h200.clock --what cost,lag    some of it
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import traceback
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import torch

from benchmarks.h200.clock_regimes import regimes
from benchmarks.h200.common import captured, save
from stepmark.instruments.event_clock import EventInstrument
from stepmark.instruments.l2_flush import BUSY_CYCLES, _timed, prove
from stepmark.measure.program import Program
from stepmark.measure.sampler import clock_cost, take_block
from stepmark.records.sample import Layout
from stepmark.suites.selftest import spin

Row = dict[str, Any]
CUDA = torch.device("cuda")


def cost() -> list[Row]:
    """What a mark costs the host, and how far apart two adjacent events are on a device that has work."""
    clock = EventInstrument("cuda")
    clock.begin()
    for _ in range(2000):
        clock.mark()
    rows: list[Row] = []
    for name, mark in (("mark", clock.mark), ("python record", _record_plainly)):
        clock.begin()
        begin = time.perf_counter_ns()
        marks = [mark() for _ in range(1000)]
        spent = (time.perf_counter_ns() - begin) / 1000
        rows.append({"what": f"host cost of {name}", "us": spent * 1e-3})
        del marks
    clock.begin()
    torch.cuda._sleep(20_000_000)  # type: ignore[no-untyped-call]
    moments = clock.nanoseconds([clock.mark() for _ in range(500)])
    gaps = [b - a for a, b in pairwise(moments)]
    rows.append({"what": "adjacent events in a full queue, us", "us": statistics.median(gaps) * 1e-3})
    clock.begin()
    moments = clock.nanoseconds([clock.mark() for _ in range(2000)])
    steps = sorted({b - a for a, b in pairwise(moments)})
    smallest = min(b - a for a, b in pairwise(steps))
    rows.append({"what": "smallest step of the clock, ns", "ns": smallest, "different": len(steps)})
    begin = time.perf_counter_ns()
    for _ in range(200):
        torch.cuda.synchronize()
    idle = (time.perf_counter_ns() - begin) / 200 * 1e-3
    rows.append({"what": "synchronize an idle device, us", "us": idle})
    waits = []
    for _ in range(200):
        clock.begin()
        begin = time.perf_counter_ns()
        clock.nanoseconds([clock.mark()])
        waits.append(time.perf_counter_ns() - begin)
    rows.append({"what": "mark, wait and read, us", "us": statistics.median(waits) * 1e-3})
    return rows


def _record_plainly() -> object:
    event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    event.record()
    return event


def programs() -> dict[str, Callable[[], Any]]:
    small, large = torch.randn(64, 64, device=CUDA), torch.randn(64 << 20, device=CUDA)
    a = torch.randn(4096, 4096, device=CUDA, dtype=torch.bfloat16)
    b = torch.randn(1024, 1024, device=CUDA, dtype=torch.bfloat16)
    return {
        "add 64x64": lambda: small + small,
        "add 64 Mi": lambda: large + large,
        "matmul 1024 bf16": lambda: b @ b,
        "matmul 4096 bf16": lambda: a @ a,
        "spin 20 us": lambda: torch.cuda._sleep(39_600),  # type: ignore[no-untyped-call]
        "spin 50 us": lambda: torch.cuda._sleep(99_000),  # type: ignore[no-untyped-call]
        "spin 1 ms": lambda: torch.cuda._sleep(1_980_000),  # type: ignore[no-untyped-call]
    }


def lag() -> list[Row]:
    """Device and host time and lag of calls in batches, with and without a lead-in, and the clock's cost."""
    rows = []
    for name, call in programs().items():
        program = Program(layout=Layout(phases=("op",), primary="op"), calls=(call,))
        clock = EventInstrument("cuda")
        for _ in range(3):
            take_block(program, (3,), clock)
        once = take_block(program, (10,), clock).nanoseconds[0] * 1e-10
        for seconds in (0.0005, 0.002):
            count = max(1, round(seconds / once))
            for lead_in in (0, max(1, round(1e-4 / once))):
                blocks = [take_block(program, (count,), clock, lead_in=lead_in) for _ in range(40)]
                per_call = [block.nanoseconds[0] / count * 1e-3 for block in blocks]
                rows.append(
                    {
                        "call": name,
                        "count": count,
                        "lead_in": lead_in,
                        "device_us": statistics.median(per_call),
                        "spread": statistics.pstdev(per_call) / statistics.median(per_call),
                        "host_us": statistics.median(block.host[0] for block in blocks) / count * 1e-3,
                        "lag_us": statistics.median(block.lag[0] for block in blocks) * 1e-3,
                        "clock_us": clock_cost(program, clock) * 1e6,
                    }
                )
    return rows


def flush() -> list[Row]:
    """Reads of probes of several sizes, warm and after flushes of several sizes."""
    size = int(torch.cuda.get_device_properties(CUDA).L2_cache_size)
    rows: list[Row] = [{"what": "L2 bytes", "bytes": size, "busy_cycles": BUSY_CYCLES}]
    for times in (1, 2, 4):
        buffer = torch.empty(times * size // 4, dtype=torch.int32, device=CUDA)
        for share in (0.02, 0.1, 0.25, 0.5):
            probe = torch.ones(int(size * share) // 4, device=CUDA)
            for name, read in (("sum", probe.sum), ("amax", probe.amax)):
                for _ in range(3):
                    read()
                    buffer.zero_()
                warm = [_timed(read, before=(read,), device=CUDA) for _ in range(15)]
                cold = [_timed(read, before=(read, buffer.zero_), device=CUDA) for _ in range(15)]
                rows.append(
                    {
                        "flushed_times": times,
                        "share": share,
                        "read": name,
                        "warm_us": statistics.median(warm) * 1e6,
                        "cold_us": statistics.median(cold) * 1e6,
                        "warm_most_us": max(warm) * 1e6,
                        "cold_least_us": min(cold) * 1e6,
                    }
                )
        evidence = prove(buffer.zero_, size=size, flushed=buffer.nbytes, device=CUDA)
        rows.append({"flushed_times": times, "flush_us": evidence.flush_seconds * 1e6})
    return rows


def known() -> list[Row]:
    """Rates of the spinning kernel by the host's clock, and kernels of lengths that follow from them."""
    rows: list[Row] = []

    def rate(cycles: int) -> float:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        spin(CUDA, cycles)
        torch.cuda.synchronize()
        return cycles / (time.perf_counter() - begin)

    rates = [rate(100_000_000) for _ in range(12)]
    rows.append({"what": "cycles a second, 50 ms each", "ghz": [round(each * 1e-9, 4) for each in rates]})
    clock = EventInstrument("cuda")
    for microseconds in (20, 50, 200, 1000, 5000):
        cycles = round(rates[-1] * microseconds * 1e-6)
        for kind in ("python", "graph"):
            call: Callable[[], object] = partial(spin, CUDA, cycles)
            if kind == "graph":
                call = captured(call).replay
            program = Program(layout=Layout(phases=("op",), primary="op"), calls=(call,))
            count = max(2, 4000 // microseconds)
            blocks = [take_block(program, (count,), clock, lead_in=2) for _ in range(12)]
            seen = [round(block.nanoseconds[0] / count * 1e-3, 3) for block in blocks]
            host = statistics.median(block.host[0] for block in blocks) / count * 1e-3
            rows.append({"true_us": microseconds, "kind": kind, "host_us": host, "seen_us": seen})
    rows.append({"what": "cycles a second, after", "ghz": round(rate(100_000_000) * 1e-9, 4)})
    return rows


def startup() -> list[Row]:
    """Where a forked worker's time goes: context, first kernel, libraries, and its end."""
    rows = []
    for _ in range(4):
        read, write = os.pipe()
        begin = time.perf_counter()
        pid = os.fork()
        if pid == 0:
            _live(write, begin)
        os.close(write)
        with os.fdopen(read) as lines:
            stages = dict(line.split() for line in lines)
        os.waitpid(pid, 0)
        stages["gone"] = f"{time.perf_counter() - begin:.4f}"
        rows.append({stage: float(at) for stage, at in stages.items()})
    return rows


def _live(write: int, begin: float) -> None:
    def say(stage: str) -> None:
        os.write(write, f"{stage} {time.perf_counter() - begin:.4f}\n".encode())

    try:
        say("forked")
        torch.cuda.init()  # type: ignore[no-untyped-call]
        say("initialised")
        x = torch.zeros(1024, 1024, device="cuda")
        torch.cuda.synchronize()
        say("first_kernel")
        _ = x @ x
        torch.cuda.synchronize()
        say("first_product")
        torch.nn.functional.layer_norm(x, (1024,)).softmax(-1).sum()
        torch.cuda.synchronize()
        say("some_kernels")
        model = torch.nn.Linear(1024, 1024, device="cuda")
        optimizer = torch.optim.AdamW(model.parameters())
        model(x).sum().backward()
        optimizer.step()
        torch.cuda.synchronize()
        say("first_step")
    finally:
        os._exit(0)


PARTS: dict[str, Callable[[], list[Row]]] = {
    "startup": startup,
    "cost": cost,
    "lag": lag,
    "flush": flush,
    "known": known,
    "regimes": regimes,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", default=",".join(PARTS))
    names = parser.parse_args().what.split(",")
    rows: list[Row] = []
    for name in [part for part in PARTS if part in names]:  # the first forks, before the device is touched
        begin = time.perf_counter()
        try:
            found = PARTS[name]()
        except Exception:
            traceback.print_exc()
            found = []
        for row in found:
            print(name, row, flush=True)
        rows += [{"part": name, **row} for row in found]
        print(f"{name}: {time.perf_counter() - begin:.1f} s", flush=True)
    print(save("clock", rows))


if __name__ == "__main__":
    main()
