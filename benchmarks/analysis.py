"""How long the analysis takes: resampling, and judging a run of 1000 cases.

Run from the root of the repository: python -m benchmarks.analysis
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter

import msgspec
import numpy as np

from stepmark.analysis.judge import judge
from stepmark.audit import audit
from stepmark.records.run import Recording
from stepmark.stats.bootstrap import bca, percentile
from stepmark.stats.quantile import median
from stepmark.stats.resample import Statistic
from tests.support.recordings import make_recording

REPEATS = 5
STATISTICS: tuple[Statistic, ...] = ("mean", "median")


def time_call(call: Callable[[], object]) -> str:
    """Median and range of a few calls, in milliseconds."""
    call()
    elapsed = []
    for _ in range(REPEATS):
        start = perf_counter()
        call()
        elapsed.append(1e3 * (perf_counter() - start))
    return f"{float(median(np.array(elapsed))):8.1f} ms  ({min(elapsed):.1f} to {max(elapsed):.1f})"


def print_bootstrap() -> None:
    values = np.random.default_rng(0).lognormal(0.0, 0.1, 100)
    print(f"\n100 000 bootstrap resamples of 100 values, median of {REPEATS} calls")
    for method in (percentile, bca):
        for statistic in STATISTICS:
            call = partial(
                method,
                values,
                statistic,
                confidence=0.95,
                num_resamples=100_000,
                generator=np.random.default_rng(0),
            )
            print(f"  {method.__name__:10} {statistic:7} {time_call(call)}")


def print_judging(num_launches: int) -> None:
    recording = make_recording(axes={"cell": range(500)}, num_launches=num_launches, num_rounds=60)
    encoded = msgspec.msgpack.encode(recording)
    print(
        f"\na run of {len(recording.run.cases)} cases, {num_launches} launches of 60 rounds, 6 phases each, "
        f"{len(encoded) / 1e6:.0f} MB, median of {REPEATS} calls"
    )
    decode = msgspec.msgpack.Decoder(Recording).decode
    print(f"  decode           {time_call(lambda: decode(encoded))}")
    print(f"  judge            {time_call(lambda: judge(recording))}")
    print(f"  audit            {time_call(lambda: audit(recording))}")


def main() -> None:
    print_bootstrap()
    for num_launches in (10, 1):
        print_judging(num_launches)


if __name__ == "__main__":
    main()
