"""Memory through the last traced iteration: its level from change to change, its peak, and who made it.

The level is what was taken minus what was given back since the iteration began. Memory that was there before
the recording is not in it; a CPU's allocator does not even tell when such memory is given back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepmark.analysis.profile_spans import NANOSECOND, NOTHING, Stretches, windows_of
from stepmark.records.profile import Allocations, MemoryPoint, MemoryProfile, PhaseMemory
from stepmark.stats.arrays import FloatArray, IntArray


def follow_memory(
    allocations: Allocations, phases: Stretches, operations: Stretches, names: Sequence[str]
) -> MemoryProfile:
    """`phases` are those of all iterations, in order."""
    num_phases = np.unique(phases.names).size
    last = phases.at(slice(-num_phases, None))
    begin, end = float(last.starts[0]), float(last.ends[-1])
    times = np.frombuffer(allocations.times, dtype="<i8") * NANOSECOND
    levels = np.cumsum(np.frombuffer(allocations.changes, dtype="<i8")).astype(np.intp)
    before = int(np.searchsorted(times, begin))
    inside = slice(before, int(np.searchsorted(times, end, side="right")))
    base = int(levels[before - 1]) if before else 0
    moments = np.concatenate(([begin], times[inside]))
    amounts = np.concatenate(([0], levels[inside] - base)).astype(np.intp)
    top = int(amounts.argmax())
    (window,) = windows_of(last, moments[top : top + 1]).tolist()
    return MemoryProfile(
        timeline=tuple(
            MemoryPoint(seconds=moment - begin, num_bytes=amount)
            for moment, amount in zip(moments.tolist(), amounts.tolist(), strict=True)
        ),
        phases=tuple(
            _phase(names[int(last.names[place])], last, place, moments, amounts)
            for place in range(num_phases)
        ),
        peak=MemoryPoint(seconds=float(moments[top]) - begin, num_bytes=int(amounts[top])),
        peak_phase=names[int(last.names[window])] if window != NOTHING else None,
        peak_operation=_innermost(float(moments[top]), operations, names),
    )


def _phase(name: str, windows: Stretches, place: int, moments: FloatArray, amounts: IntArray) -> PhaseMemory:
    """The level that a phase finds counts as its own peak, if it never rises above it."""
    begin, end = float(windows.starts[place]), float(windows.ends[place])
    first = int(np.searchsorted(moments, begin, side="right")) - 1
    behind = int(np.searchsorted(moments, end, side="right"))
    seen = amounts[max(first, 0) : behind]
    return PhaseMemory(
        phase=name,
        begin_seconds=begin - float(moments[0]),
        end_seconds=end - float(moments[0]),
        peak_bytes=int(seen.max()),
        held_bytes=int(seen[-1]),
    )


def _innermost(moment: float, operations: Stretches, names: Sequence[str]) -> str | None:
    """The operation that began last of those that run at the moment."""
    running = np.flatnonzero((operations.starts <= moment) & (operations.ends >= moment))
    return names[int(operations.names[running[-1]])] if running.size else None
