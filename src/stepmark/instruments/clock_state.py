"""The clock's state: its source in the kernel, and what reading it resolves and costs, tried out."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.records.machine import ClockFacts

_READINGS = 5000
_SOURCE = "sys/devices/system/clocksource/clocksource0/current_clocksource"


def clock_facts(files: PseudoFiles, *, read: Callable[[], int] = time.perf_counter_ns) -> ClockFacts:
    """A few thousand readings one behind the other; their list costs some nanoseconds of each."""
    readings = [read() for _ in range(_READINGS)]
    steps = [later - earlier for earlier, later in pairwise(readings)]
    moved = [step for step in steps if step > 0]
    return ClockFacts(
        source=files.text(_SOURCE),
        resolution=min(moved, default=0) * 1e-9,
        cost=sorted(steps)[len(steps) // 2] * 1e-9 or (readings[-1] - readings[0]) / len(steps) * 1e-9,
    )
