"""Block size: how many iterations make one observation.

A block must be long against the clock and short against the machine's moods. Reading the clock costs about
0.1 µs, so a block of `block_seconds` = 0.5 ms keeps it below 0.1 %. Shorter does not help, longer hurts: on a
shared machine the speed changes from millisecond to millisecond (a neighbour on the other hyperthread), and
two blocks cancel what they share only while they are close in time. Two instances of one layer, a training
step of 0.6 ms, interleaved for 3 s: standard error of the median log-ratio 0.19 % with one step a block,
0.34 % with 4, 0.51 % with 16 (`python -m benchmarks.blocks`; 2-core Xeon virtual machine, torch 2.13,
2026-11-15).

On a device with a queue a reading is an event: 3.8 µs of the host's time on a machine with an H200, so blocks
are QUEUED_LONGER times as long, which keeps it at 0.2 % of a block that waits for the host; on the device it
takes 1.3 µs. A device also has no millisecond moods: what changes its pace is heat and power.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST_ITERATIONS = 100_000
"""An empty operation would otherwise ask for millions of calls between two readings."""


QUEUED_LONGER = 4.0


def block_size(seconds: Sequence[float], *, whole: int | None, block_seconds: float) -> tuple[int, ...]:
    """Iterations per phase, from the seconds each phase takes once, with what else each iteration costs;
    `whole` is the index of the whole phase.

    Phases of a whole share one count, half of what fills the block, because the whole and its phases are
    timed in turn (sampler.py); operations share the block's time equally.
    """
    if whole is not None:
        return (_fill(seconds[whole], block_seconds / 2.0),) * len(seconds)
    return tuple(_fill(each, block_seconds / len(seconds)) for each in seconds)


def _fill(seconds: float, target: float) -> int:
    if seconds <= 0.0:
        return MOST_ITERATIONS
    return max(1, round(min(MOST_ITERATIONS, target / seconds)))
