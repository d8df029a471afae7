"""Times of one case as an array: phase by launch by round, in seconds per iteration.

A block stands in the column of its round number, so two cases of a cell are paired by position. NaN marks a
round that a lane did not complete. Totals and the remainder are formed here, block by block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stepmark.records.sample import Layout
from stepmark.records.trial import LaneTrial
from stepmark.stats.arrays import FloatArray
from stepmark.stats.blocks import integers, seconds_per_iteration

REMAINDER = "remainder"
"""What the phases inside a whole do not explain of it: a difference, so it may be 0 or below."""


@dataclass(frozen=True)
class Times:
    """Everything timed of one case."""

    layout: Layout
    launches: tuple[int, ...]
    """Numbers of the launches, the second axis of `seconds`."""
    phases: tuple[str, ...]
    """Totals, phases and remainder in display order, the first axis of `seconds`."""
    seconds: FloatArray
    """Per iteration; the third axis is the number of the round."""

    def rows(self, phases: tuple[str, ...]) -> FloatArray:
        """The named phases alone."""
        return self.seconds[[self.phases.index(phase) for phase in phases]]


def read_times(lanes: Mapping[int, LaneTrial], layout: Layout) -> Times:
    """From lanes that have samples, by number of the launch."""
    columns = [integers(lane.rounds) for lane in lanes.values()]
    width = 1 + max(int(column.max()) for column in columns)
    measured = np.full((len(layout.phases), len(lanes), width), np.nan)
    row = {phase: i for i, phase in enumerate(layout.phases)}
    for position, (lane, column) in enumerate(zip(lanes.values(), columns, strict=True)):
        for sample in lane.samples:
            if sample.phase in row:
                blocks = seconds_per_iteration(sample.nanoseconds, sample.iterations)
                measured[row[sample.phase], position, column] = blocks
    named = _with_derived(layout, dict(zip(layout.phases, measured, strict=True)))
    there = {name: blocks for name, blocks in named.items() if not np.isnan(blocks).all()}
    return Times(
        layout=layout,
        launches=tuple(lanes),
        phases=tuple(there),
        seconds=np.stack(list(there.values())),
    )


def _with_derived(layout: Layout, measured: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Totals, then the phases, then the remainder where a whole spans other phases."""
    named = {total.name: np.sum([measured[part] for part in total.parts], axis=0) for total in layout.totals}
    named |= measured
    parts = [blocks for phase, blocks in measured.items() if phase != layout.whole]
    if layout.whole is not None and parts:
        named[REMAINDER] = measured[layout.whole] - np.sum(parts, axis=0)
    return named
