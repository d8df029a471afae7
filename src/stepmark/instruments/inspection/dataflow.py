"""Dataflow: what of an iteration's results depends on what, from the log of its operations.

Storages are followed, not single numbers, and a storage that was ever written with something stays so: the
answers err towards "depends" and "is used". Where a value leaves torch (a number read into Python), whatever
comes later may depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepmark.instruments.inspection.operation_log import Operation


def dead_flops(operations: Sequence[Operation], alive: set[int]) -> float:
    """Work whose results reach nothing that is alive after the phase, by a slice from its end."""
    needed = set(alive)
    dead = 0.0
    for operation in reversed(operations):
        if operation.leaves_torch or not needed.isdisjoint(operation.writes):
            needed.update(operation.reads)
        else:
            dead += operation.flops
    return dead


def reached(operations: Sequence[Operation], sources: set[int]) -> set[int] | None:
    """Storages whose numbers depend on the sources; None, for anything, where a source's value left torch."""
    touched = set(sources)
    for operation in operations:
        if not touched.isdisjoint(operation.reads):
            if operation.leaves_torch:
                return None
            touched.update(operation.writes)
    return touched


def used_as_data(
    operations: Sequence[Operation],
    drawn: set[int],
    *,
    parameters: set[int],
    sizes: Mapping[int, int],
    results: set[int],
) -> bool:
    """Whether drawn numbers are data themselves: they meet a matrix product, or come out as a result.

    Noise that is laid over other data of its size, like the mask of a dropout, is a part of the computation.
    """
    labelled = set(drawn)
    for operation in operations:
        touching = labelled.intersection(operation.reads)
        if not touching:
            continue
        if operation.flops:
            return True
        size = max(sizes[one] for one in touching)
        others = set(operation.reads) - labelled - parameters
        if not any(sizes[one] >= size for one in others):
            labelled.update(operation.writes)
    return not labelled.isdisjoint(results)
