"""The jitter probe: a fixed piece of work on one core, timed again and again for about two seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import repeat

import numpy as np

from stepmark.records.machine import JitterFacts
from stepmark.stats.unrest import unrest

PROBE_SECONDS = 2.0
SLICE_SECONDS = 0.0005
"""Short against a scheduler's slice of some milliseconds, long against reading the clock."""
_TRIAL_TURNS = 2000


def probe(
    *,
    seconds: float = PROBE_SECONDS,
    now: Callable[[], int] = time.perf_counter_ns,
    spin: Callable[[int], object] | None = None,
) -> JitterFacts:
    """Spin without pause; `spin` does the number of turns it is given, `now` reads nanoseconds."""
    spin = spin or _spin
    turns = _turns_of_a_slice(now, spin)
    first = now()
    last = first + int(seconds * 1e9)
    moments = [first]
    while moments[-1] < last:
        spin(turns)
        moments.append(now())
    edges = (np.array(moments, dtype=np.float64) - first) * 1e-9
    seen = unrest(edges[:-1], edges[1:])
    return JitterFacts(
        num_slices=len(moments) - 1,
        fastest=seen.fastest,
        slow=seen.slow,
        very_slow=seen.very_slow,
        num_gaps=seen.num_gaps,
        longest_gap=seen.longest_gap,
        seconds=float(edges[-1]),
        period=seen.period,
    )


def _spin(turns: int) -> None:
    for _ in repeat(None, turns):
        pass


def _turns_of_a_slice(now: Callable[[], int], spin: Callable[[int], object]) -> int:
    """From the fastest of a few trials, the first of which wake the clock up."""
    times = []
    for _ in range(50):
        begin = now()
        spin(_TRIAL_TURNS)
        times.append(now() - begin)
    return max(1, round(_TRIAL_TURNS * SLICE_SECONDS * 1e9 / max(min(times), 1)))
