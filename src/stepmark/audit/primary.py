"""The time a verdict is about: the primary phase of a lane, block by block."""

from __future__ import annotations

import numpy as np

from stepmark.records.trial import LaneTrial
from stepmark.stats.arrays import FloatArray
from stepmark.stats.blocks import seconds_per_iteration


def primary_seconds(lane: LaneTrial) -> FloatArray | None:
    """Seconds per iteration of the primary phase or total; None where a part of it has no sample."""
    if lane.layout is None:
        return None
    primary = lane.layout.primary
    parts = next((total.parts for total in lane.layout.totals if total.name == primary), (primary,))
    samples = [sample for sample in lane.samples if sample.phase in parts]
    if len(samples) != len(parts):
        return None
    blocks = [seconds_per_iteration(sample.nanoseconds, sample.iterations) for sample in samples]
    summed: FloatArray = np.sum(blocks, axis=0)
    return summed
