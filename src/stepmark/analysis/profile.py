"""A profile summarized: where each phase's time and memory go, and what profiling it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepmark.analysis.profile_cost import cost_of_profiling
from stepmark.analysis.profile_gaps import find_idle
from stepmark.analysis.profile_memory import follow_memory
from stepmark.analysis.profile_operations import Work, rank_operations, work_on_device, work_on_host
from stepmark.analysis.profile_spans import Stretches, median_window, nest, read_spans
from stepmark.records.profile import PhaseProfile, ProfileRecording, ProfileSummary, Trace


def summarize_profile(recording: ProfileRecording) -> ProfileSummary | None:
    """None where nothing was traced."""
    trace = recording.tracing.trace
    if trace is None or recording.tracing.failure is not None:
        return None
    read = _read(trace)
    return ProfileSummary(
        on_device=read.kernels is not None,
        phases=tuple(_phase(read, name) for name in dict.fromkeys(read.phases.names.tolist())),
        memory=follow_memory(trace.allocations, read.phases, read.operations, trace.names),
        cost=cost_of_profiling(recording.cost),
    )


class _Read(NamedTuple):
    """A trace as arrays."""

    names: Sequence[str]
    phases: Stretches
    operations: Stretches
    kernels: Stretches | None
    """None where nothing ran on an accelerator."""
    work: Work


def _read(trace: Trace) -> _Read:
    phases, operations = read_spans(trace.phases), read_spans(trace.operations)
    kernels, nesting = read_spans(trace.kernels), nest(operations)
    if kernels.names.size == 0:
        return _Read(trace.names, phases, operations, None, work_on_host(phases, operations, nesting))
    launched_by = np.frombuffer(trace.launched_by, dtype="<i8").astype(np.intp)
    work = work_on_device(phases, operations, nesting, kernels, launched_by)
    return _Read(trace.names, phases, operations, kernels, work)


def _phase(read: _Read, name: int) -> PhaseProfile:
    places = np.flatnonzero(read.phases.names == name)
    window = int(places[median_window(read.phases.lengths[places])])
    begin, end = float(read.phases.starts[window]), float(read.phases.ends[window])
    ranked = rank_operations(read.work, window=window, seconds=end - begin, names=read.names)
    return PhaseProfile(
        phase=read.names[name],
        seconds=end - begin,
        products_share=sum(row.share for row in ranked if row.is_product),
        idle=find_idle(begin, end, read.operations),
        device_idle=find_idle(begin, end, read.kernels) if read.kernels is not None else None,
        operations=ranked,
    )
