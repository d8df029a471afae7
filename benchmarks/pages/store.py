"""How fast a large store answers what pages ask of it: `python -m benchmarks.pages.store --json FILE`."""

from __future__ import annotations

import argparse
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np

from benchmarks.machine import machine_line
from benchmarks.pages.large_store import NUM_RUNS, PLACE, large_store
from stepmark.keeping import case_history, machines
from stepmark.pipeline import judged
from stepmark.store.store import Store

DEMANDED = 0.3
"""Seconds for 95 of 100 requests."""
Request = Callable[[Store, Random], object]


def requests(ids: tuple[str, ...], cases: tuple[str, ...]) -> dict[str, tuple[int, Request]]:
    """What is asked, and how often."""
    longest, others = cases[0], cases
    return {
        "run list, first page": (100, lambda store, _: store.search(limit=50)),
        "run list, any page": (100, lambda store, random: store.search(offset=random.randrange(len(ids)))),
        "run list, words": (100, lambda store, _: store.search("layers fused")),
        "run list, suite, machine, branch": (
            100,
            lambda store, _: store.search(suite="layers", machine="bench-b", branch="main"),
        ),
        "what can be filtered by": (
            50,
            lambda store, _: (store.suites(), store.branches(), store.machines()),
        ),
        "machines with noise": (30, lambda store, _: machines(store)),
        "run, loaded and judged": (60, lambda store, random: judged(store.load(random.choice(ids)))),
        "case search": (50, lambda store, _: store.case_ids("layers mine")),
        "case points, longest": (30, lambda store, _: store.case_points(longest)),
        "case history, longest": (30, lambda store, _: case_history(store, longest)),
        "case history, one machine": (30, lambda store, _: case_history(store, longest, machine="bench-b")),
        "case history, any case": (60, lambda store, random: case_history(store, random.choice(others))),
    }


def measure(place: Path) -> dict[str, dict[str, float]]:
    """Seconds of each request: median, 95th percentile and the worst, the first of its kind included.

    The processor's own time stands beside them: on a machine that others use, the rest is waiting for it.
    """
    random = Random(7)
    found = {}
    with Store.open(f"sqlite:///{place}") as store:
        ids = tuple(head.id for head in store.heads(None))
        cases = tuple(sorted(store.case_ids(limit=1000), key=lambda case: -len(store.case_points(case))))
        case_history(store, cases[-1])  # ruptures and SciPy are imported once per server
        judged(store.load(ids[0]))
        for name, (repeats, ask) in requests(ids, cases).items():
            times, computing = [], []
            for _ in range(repeats):
                begin, busy = time.perf_counter(), time.process_time()
                ask(store, random)
                times.append(time.perf_counter() - begin)
                computing.append(time.process_time() - busy)
            p50, p95 = np.quantile(times, [0.5, 0.95])
            found[name] = {
                "p50": float(p50),
                "p95": float(p95),
                "worst": max(times),
                "processor_p95": float(np.quantile(computing, 0.95)),
                "requests": repeats,
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=NUM_RUNS)
    parser.add_argument("--place", type=Path, default=PLACE)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    chosen.place.parent.mkdir(parents=True, exist_ok=True)
    place = large_store(chosen.place, num_runs=chosen.runs)
    counts = _counts(place)
    print(machine_line())
    print(f"{place}: {counts['runs']} runs, {counts['samples']} samples, {place.stat().st_size / 1e6:.0f} MB")
    busy = os.getloadavg()[0]
    print(f"load of the machine before: {busy:.1f}")
    found = measure(place)
    for name, times in found.items():
        share = times["p95"] / DEMANDED
        p50, p95 = times["p50"] * 1e3, times["p95"] * 1e3
        alone = times["processor_p95"] * 1e3
        print(
            f"{name:34s} p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   {share:5.2f} of 300 ms"
            f"   processor p95 {alone:6.1f} ms"
        )
    if chosen.json:
        document: dict[str, Any] = {
            "made": machine_line(),
            "load_before": busy,
            "demanded_seconds": DEMANDED,
            "store": counts,
            "requests": found,
        }
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_bytes(msgspec.json.format(msgspec.json.encode(document)) + b"\n")


def _counts(place: Path) -> dict[str, int]:
    connection = sqlite3.connect(place)
    try:
        tables = ("runs", "samples", "launches", "case_summaries")
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    finally:
        connection.close()


if __name__ == "__main__":
    main()
