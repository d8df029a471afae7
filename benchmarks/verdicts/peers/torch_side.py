"""torch.utils.benchmark: `Timer.blocked_autorange` for the time given."""

from __future__ import annotations

import time

from benchmarks.verdicts.peers.side_order import answer, build, of_values, order


def main() -> None:
    from torch.utils.benchmark import Timer

    side = order()
    call = build(side)
    begin = time.perf_counter()
    timer = Timer(stmt="call()", globals={"call": call}, num_threads=side.threads)
    measurement = timer.blocked_autorange(min_run_time=side.seconds)
    answer(of_values(measurement.times, measuring=time.perf_counter() - begin, kept=False))


if __name__ == "__main__":
    main()
