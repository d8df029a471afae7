"""Steadiness: is a lane still warming up?

The later half of the recent blocks is compared with the earlier half by their medians. While compilation,
autotuning, allocator growth or page faults are still going on, the later half is faster by far more than
TOLERANCE; a machine's ordinary noise moves medians of three blocks by less. It is a test of "warm", not of
"quiet": a lane on a noisy machine settles, a lane that keeps getting faster does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

WINDOW = 6
"""Recent blocks looked at: two halves of three."""
LEAST = 3
"""Blocks needed before the question makes sense."""
TOLERANCE = 0.10


def is_steady(times: Sequence[float]) -> bool:
    """Whether the recent block times show no warming trend."""
    if len(times) < LEAST:
        return False
    recent = times[-WINDOW:]
    half = len(recent) // 2
    earlier, later = median(recent[:half]), median(recent[-half:])
    return later >= earlier * (1.0 - TOLERANCE)
