"""Traffic: bytes that one operation reads and writes, each tensor once on each side; views move nothing.

An operator that picks rows out of a table, or puts some into one, does not touch all of it: its largest
argument counts no more than the next one. What kernels read twice, or keep in a cache, is not seen here.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from stepmark.instruments.inspection.operators import Operator
from stepmark.instruments.inspection.storages import footprint


def traffic_of(
    operator: Operator,
    *,
    read: Sequence[torch.Tensor],
    written: Sequence[torch.Tensor],
    made: Sequence[torch.Tensor],
) -> float:
    """`read` and `written` are arguments, `made` are results in memory of their own."""
    if operator.view or operator.unwritten or not (written or made):
        return 0.0
    given = () if operator.shapes_only else read
    sources = _footprints(given if operator.overwrites else (*given, *written))
    targets = _footprints(written)
    if operator.picks:
        most = _second_largest(_footprints((*read, *written)))
        sources, targets = [min(one, most) for one in sources], [min(one, most) for one in targets]
    return float(sum(sources) + sum(targets) + sum(_footprints(made)))


def _footprints(tensors: Sequence[torch.Tensor]) -> list[int]:
    each_once = {id(tensor): tensor for tensor in tensors}
    return [footprint(tensor) for tensor in each_once.values()]


def _second_largest(sizes: Sequence[int]) -> int:
    return sorted(sizes)[-2] if len(sizes) > 1 else 0
