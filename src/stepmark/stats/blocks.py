"""Block totals as times: packed integers of nanoseconds to seconds per iteration."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepmark.stats.arrays import FloatArray

PACKED = np.dtype("<i8")
"""Little-endian 64-bit integers, as samples are stored."""


def integers(packed: bytes) -> npt.NDArray[np.int64]:
    """The packed integers, read in place."""
    return np.frombuffer(packed, dtype=PACKED)


def seconds_per_iteration(packed: bytes, iterations: int) -> FloatArray:
    """One value per block, in the order of the blocks."""
    return integers(packed).astype(np.float64) * (1e-9 / iterations)
