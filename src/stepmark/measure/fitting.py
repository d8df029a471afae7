"""Fitting: whether the variants of a cell have room on an accelerator together.

In one process what the others hold stays while one of them has its peak, and blocks that one lets go of serve
the next. In processes of their own each keeps all that it ever took, and pays for a context besides. So what
does not fit into one process does not fit into several at the same time, and runs one after another.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepmark.records.memory import DeviceMemory
from stepmark.records.settings import Isolation

SHARE = 0.9
"""Of what is available; the rest is for blocks that fit nowhere."""
CONTEXT = 700 << 20
"""Bytes that a process's context and libraries take: an assumption, on the large side."""


def room_for(cases: Sequence[DeviceMemory], wanted: Isolation) -> Isolation:
    """The isolation that is wanted, or the one in which the cases fit."""
    return wanted if len(cases) < 2 or _peak(cases, wanted) <= SHARE * _available(cases) else Isolation.ALONE


def _kept(case: DeviceMemory) -> int:
    """Between its turns: what is allocated, and the pools of its graphs, which nobody else can use."""
    return min(case.held + case.graph_pools, case.peak_reserved)


def _available(cases: Sequence[DeviceMemory]) -> int:
    return min(case.available for case in cases)


def _peak(cases: Sequence[DeviceMemory], isolation: Isolation) -> int:
    match isolation:
        case Isolation.SHARED:
            return sum(map(_kept, cases)) + max(case.peak_reserved - _kept(case) for case in cases)
        case Isolation.SEPARATE:
            # One context is in `available` already.
            return sum(case.peak_reserved + CONTEXT for case in cases) - CONTEXT
        case Isolation.ALONE:
            return max(case.peak_reserved for case in cases)
