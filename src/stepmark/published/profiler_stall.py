"""What the profiler cost: seconds a layer that the table under nsys has more than the table without.

Formula.      stall = (forward under nsys - forward) / layers
Assumptions.  Both tables timed the same step.
Source.       The published tables. That the cost is the same for every layer of every size, and absent from
              the backward pass, points at a wait of the host once a layer, not at slower kernels (inferred).
"""

from __future__ import annotations

from stepmark.interchange.grid import GridDocument
from stepmark.published.transformer import MODELS, PROFILED, WARM, tables, timings
from stepmark.records.record import Record


class Stall(Record, frozen=True, kw_only=True):
    """One size, in seconds."""

    size: str
    layers: int
    forward: float
    profiled: float
    backward: float
    profiled_backward: float

    @property
    def added(self) -> float:
        return self.profiled - self.forward

    @property
    def per_layer(self) -> float:
        return self.added / self.layers

    @property
    def forward_ratio(self) -> float:
        return self.profiled / self.forward

    @property
    def backward_ratio(self) -> float:
        return self.profiled_backward / self.backward


def stalls(document: GridDocument) -> tuple[Stall, ...]:
    """Every size; none where the file has no table under the profiler."""
    found = tables(document)
    if PROFILED not in found:
        return ()
    forward, profiled = (timings(found[name], "forward") for name in (WARM, PROFILED))
    backward, profiled_backward = (timings(found[name], "backward") for name in (WARM, PROFILED))
    return tuple(
        Stall(
            size=size,
            layers=MODELS[size].layers,
            forward=forward[size].mean,
            profiled=profiled[size].mean,
            backward=backward[size].mean,
            profiled_backward=profiled_backward[size].mean,
        )
        for size in forward
    )
