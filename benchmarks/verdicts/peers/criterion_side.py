"""Criterion's sampling plan in Python: warm-up by doubling, then 100 samples, linear or flat.

Criterion warms up for 3 s and samples for 5 s; here both are scaled to the time given.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import repeat

from benchmarks.verdicts.peers.side_order import answer, build, of_values, order
from stepmark.stats.criterion_plan import plan_samples

WARMUP_SHARE = 3.0 / 8.0


def _elapsed(call: Callable[[], object], iterations: int) -> float:
    begin = time.perf_counter()
    for _ in repeat(None, iterations):
        call()
    return time.perf_counter() - begin


def _warm_up(call: Callable[[], object], seconds: float) -> float:
    """Batches of 1, 2, 4, ... calls until the time is over; the mean time of a call."""
    spent, calls, batch = 0.0, 0, 1
    while spent <= seconds:
        spent += _elapsed(call, batch)
        calls += batch
        batch *= 2
    return spent / calls


def main() -> None:
    side = order()
    call = build(side)
    begin = time.perf_counter()
    call_seconds = _warm_up(call, side.seconds * WARMUP_SHARE)
    plan = plan_samples(call_seconds, target=side.seconds * (1.0 - WARMUP_SHARE))
    averages = [_elapsed(call, num) / num for num in plan.iterations]
    answer(of_values(averages, measuring=time.perf_counter() - begin, kept=True))


if __name__ == "__main__":
    main()
