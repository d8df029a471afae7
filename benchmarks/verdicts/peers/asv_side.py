"""asv: one round of its own timing benchmark, as `asv_runner` runs it in each of its processes.

Its defaults but one: `repeat` allows as many samples as fit into the time. By default it would stop after
five samples of 10 ms, and a comparison would take a third of a second instead of the time everyone has here.
"""

from __future__ import annotations

import time

from benchmarks.verdicts.peers.side_order import answer, build, of_values, order

WARMUP = 0.1
"""Seconds: asv's own on CPython."""


def main() -> None:
    from asv_runner.benchmarks.time import TimeBenchmark

    side = order()
    call = build(side)

    class Attributes:
        repeat = (1, 1_000_000, max(side.seconds - WARMUP, 0.01))

    begin = time.perf_counter()
    benchmark = TimeBenchmark("time_call", call, [Attributes])
    samples = benchmark.run()["samples"]
    answer(of_values(samples, measuring=time.perf_counter() - begin, kept=True))


if __name__ == "__main__":
    main()
