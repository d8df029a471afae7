"""Waiting for the host: whether a device had work left when the host had asked for all of a phase.

Method.       The lag of a block: how much later than the host the device came by the end of a phase, both
              counted from a moment at which the device was idle and nothing was queued.
Formula.      Of a launch: median lag <= max(LATENCY, SHARE * median time of the block's phase): the phase
              waited for the host. A host that asks in h for what takes the device d > h is ahead by d - h
              after every iteration; one that asks in h > d stays ahead by the last kernel alone.
Constants.    LATENCY, 20 µs, is what lags scatter by where a device waits: the time from asking to starting,
              5 to 10 µs, is left out of lags once, at the block's beginning, and differs from time to time.
              SHARE, 5 %, covers a last kernel, or a last few, that outlive the host's part of the phase.
Assumptions.  One stream. The queue is not full: a full one makes the host wait, and the lag stays large,
              which is right.
Fails.        Where d and h are within 5 % of each other both answers are right. Early waits of a phase whose
              end has work queued are not seen: it is called bound by its device, which decided its end.
"""

from __future__ import annotations

import numpy as np

from stepmark.stats.arrays import FloatArray

LATENCY = 20e-6
"""Seconds."""
SHARE = 0.05


def waits_for_host(lags: FloatArray, totals: FloatArray) -> bool:
    """From lags and times of a phase in the blocks of one launch, or the medians of several, in seconds."""
    return bool(np.median(lags) <= max(LATENCY, SHARE * float(np.median(totals))))
