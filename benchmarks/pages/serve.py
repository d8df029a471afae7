"""How fast `stepmark serve` answers over a large store, and what memory it takes, in real requests."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx
import msgspec
import numpy as np
import psutil

from benchmarks.machine import machine_line
from benchmarks.pages.large_store import NUM_RUNS, PLACE, large_store

DEMANDED = 0.3
"""Seconds for 95 of 100 requests."""
MEMORY = 300e6
"""Bytes that the server may use."""
NUM_READERS = 4
"""At the same time, in the last part."""
Address = Callable[[Random], str]


class Server(NamedTuple):
    """A server that runs."""

    address: str
    process: psutil.Process


@contextmanager
def serve(place: Path) -> Iterator[Server]:
    """The command itself, in a process of its own."""
    command = [sys.executable, "-m", "stepmark", "serve", "--port", "0", "--store", str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r" at (http://\S+)", process.stdout.readline())
        assert found is not None
        try:
            yield Server(found[1], psutil.Process(process.pid))
        finally:
            process.terminate()


def asked(address: str) -> dict[str, tuple[int, Address]]:
    """What is asked, and how often; of runs every time another one, so that none is answered from memory."""
    ids = _ids(address)
    cases = httpx.get(f"{address}/api/cases", params={"limit": 200}).json()
    points = {case: len(_history(address, case)["points"]) for case in cases}
    longest = max(points, key=points.__getitem__)
    history = str(httpx.URL("/history", params={"case": longest}))
    one_machine = str(httpx.URL("/history", params={"case": longest, "machine": "bench-b"}))
    return {
        "run list": (60, lambda _: "/"),
        "run list, any page": (60, lambda random: f"/?offset={random.randrange(NUM_RUNS)}"),
        "run list, words": (60, lambda _: "/?text=layers+fused"),
        "run list, filtered": (60, lambda _: "/?suite=layers&machine=bench-b&branch=main"),
        "run page, any run": (100, lambda random: f"/runs/{random.choice(ids)}"),
        "run page, again": (60, lambda _: f"/runs/{ids[0]}"),
        f"history of {points[longest]} runs": (30, lambda _: history),
        "history, one machine": (30, lambda _: one_machine),
        "history, any case": (
            60,
            lambda random: str(httpx.URL("/history", params={"case": random.choice(cases)})),
        ),
        "cases": (30, lambda _: "/history?text=mine"),
        "machines": (20, lambda _: "/machines"),
        "comparison": (20, lambda random: "/compare?a={}&b={}".format(*random.sample(ids[:50], 2))),
        "API: runs": (60, lambda _: "/api/runs"),
        "API: any run": (60, lambda random: f"/api/runs/{random.choice(ids)}"),
        "API: history": (30, lambda _: f"/api{history}"),
    }


def measure(server: Server) -> dict[str, dict[str, float]]:
    """Seconds of each request, from the first byte sent to the last received."""
    random, found = Random(7), {}
    with httpx.Client(base_url=server.address, timeout=60.0) as client:
        for name, (repeats, path) in asked(server.address).items():
            before = _processor_seconds(server)
            times = [_seconds(client, path(random)) for _ in range(repeats)]
            found[name] = _figures(times) | _use(server, before, repeats)
    return found


def crowd(server: Server) -> dict[str, float]:
    """Several readers at once, each with another run every time."""
    ids = _ids(server.address)

    def read(seed: int) -> list[float]:
        random = Random(seed)
        with httpx.Client(base_url=server.address, timeout=60.0) as client:
            return [_seconds(client, f"/runs/{random.choice(ids)}") for _ in range(40)]

    before = _processor_seconds(server)
    with ThreadPoolExecutor(NUM_READERS) as pool:
        times = [each for part in pool.map(read, range(NUM_READERS)) for each in part]
    return _figures(times) | _use(server, before, len(times))


def _ids(address: str) -> list[str]:
    return [
        head["id"]
        for offset in range(0, NUM_RUNS, 200)
        for head in httpx.get(f"{address}/api/runs", params={"limit": 200, "offset": offset}).json()["heads"]
    ]


def _history(address: str, case: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{address}/api/history", params={"case": case}, timeout=60.0).json()
    return found


def _seconds(client: httpx.Client, path: str) -> float:
    begin = time.perf_counter()
    answer = client.get(path)
    taken = time.perf_counter() - begin
    assert answer.status_code in {200, 400}, (path, answer.status_code)
    return taken


def _figures(times: list[float]) -> dict[str, float]:
    p50, p95 = np.quantile(times, [0.5, 0.95])
    return {"p50": float(p50), "p95": float(p95), "worst": max(times), "requests": float(len(times))}


def _use(server: Server, before: float, requests: int) -> dict[str, float]:
    """Processor time of the server for a request, which others on the machine do not change, and memory."""
    return {
        "processor": (_processor_seconds(server) - before) / requests,
        "memory": float(server.process.memory_info().rss),
    }


def _processor_seconds(server: Server) -> float:
    times = server.process.cpu_times()
    return float(times.user + times.system)


def _line(name: str, *columns: str) -> str:
    return f"{name:34s}" + "".join(f"{column:>12s}" for column in columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=NUM_RUNS)
    parser.add_argument("--place", type=Path, default=PLACE)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    chosen.place.parent.mkdir(parents=True, exist_ok=True)
    place = large_store(chosen.place, num_runs=chosen.runs)
    print(machine_line())
    with serve(place) as server:
        found = measure(server)
        found[f"run page, {NUM_READERS} readers at once"] = crowd(server)
    print(_line("request", "p50", "p95", "worst", "processor", "memory"))
    for name, each in found.items():
        times = (f"{1e3 * each[key]:.1f} ms" for key in ("p50", "p95", "worst", "processor"))
        print(_line(name, *times, f"{each['memory'] / 1e6:.0f} MB"))
    slow = [name for name, each in found.items() if each["p95"] > DEMANDED]
    print(f"above {1e3 * DEMANDED:.0f} ms at p95: {', '.join(slow) or 'none'}")
    most = max(each["memory"] for each in found.values())
    print(f"memory of the server: {most / 1e6:.0f} MB at most, {most / MEMORY:.2f} of {MEMORY / 1e6:.0f} MB")
    if chosen.json:
        document = {"made": machine_line(), "requests": found, "memory": most}
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_bytes(msgspec.json.format(msgspec.json.encode(document)) + b"\n")


if __name__ == "__main__":
    main()
