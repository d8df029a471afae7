"""Operations of a phase by their own time: on the host, or, on an accelerator, the time of their kernels.

A kernel belongs to the operation that launched it, however late it ran. Kernels that no operation launched
are rows of their own, under their own names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepmark.analysis.profile_products import is_product
from stepmark.analysis.profile_spans import NOTHING, Nesting, Stretches, sum_upwards, windows_of
from stepmark.records.profile import OperationTime
from stepmark.stats.arrays import FloatArray, IntArray


class Work(NamedTuple):
    """What was done, by whom and when; one row an operation, or a kernel without one."""

    names: IntArray
    windows: IntArray
    """Places of the phases they fell into, or NOTHING."""
    own: FloatArray
    total: FloatArray
    """0 where an operation of the same name is around it."""


def work_on_host(phases: Stretches, operations: Stretches, nesting: Nesting) -> Work:
    """By the host's clock."""
    return Work(
        names=operations.names,
        windows=windows_of(phases, operations.starts),
        own=nesting.own,
        total=np.where(nesting.outermost, operations.lengths, 0.0),
    )


def work_on_device(
    phases: Stretches, operations: Stretches, nesting: Nesting, kernels: Stretches, launched_by: IntArray
) -> Work:
    """By the kernels' own times; operations without kernels are left out."""
    known = launched_by != NOTHING
    own = np.bincount(
        launched_by[known], weights=kernels.lengths[known], minlength=operations.names.size
    ).astype(np.float64)
    total = sum_upwards(own, nesting.parents)
    busy = total > 0.0
    orphans = ~known
    alone = kernels.lengths[orphans]
    return Work(
        names=np.concatenate((operations.names[busy], kernels.names[orphans])),
        windows=np.concatenate(
            (
                windows_of(phases, operations.starts[busy]),
                windows_of(phases, kernels.starts[orphans]),
            )
        ),
        own=np.concatenate((own[busy], alone)),
        total=np.concatenate((np.where(nesting.outermost, total, 0.0)[busy], alone)),
    )


def rank_operations(
    work: Work, *, window: int, seconds: float, names: Sequence[str]
) -> tuple[OperationTime, ...]:
    """Those in the window at this place, which took so many seconds; the longest own time first."""
    inside = work.windows == window
    distinct, rows = np.unique(work.names[inside], return_inverse=True)
    calls, own, total = (
        np.bincount(rows, weights=column, minlength=distinct.size).tolist()
        for column in (np.ones(rows.size), work.own[inside], work.total[inside])
    )
    ranked = [
        OperationTime(
            name=names[name],
            calls=round(calls[row]),
            self_seconds=own[row],
            total_seconds=total[row],
            share=own[row] / seconds if seconds > 0.0 else 0.0,
            is_product=is_product(names[name]),
        )
        for row, name in enumerate(distinct.tolist())
    ]
    return tuple(sorted(ranked, key=lambda row: (-row.self_seconds, -row.total_seconds, row.name)))
