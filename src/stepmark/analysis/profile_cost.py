"""The cost of profiling: profiled over unprofiled, paired by round in a launch, intervals over launches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepmark.analysis.estimates import resample_launch, to_estimates
from stepmark.analysis.seeds import generator_for
from stepmark.records.estimate import Estimate, Method
from stepmark.records.profile import CaseCost, CostRecording, PhaseCost, WeighingTrial
from stepmark.records.sample import Layout
from stepmark.stats.arrays import FloatArray, Interval, pad
from stepmark.stats.level import level
from stepmark.stats.quantile import median
from stepmark.stats.ratio import log_ratios, ratio_of_centres
from stepmark.stats.student import exponentiate

CONFIDENCE = 0.95


def summarize_cost(recording: CostRecording) -> CaseCost:
    """The cost in every phase, and why launches are missing."""
    failure = next((launch.failure for launch in recording.launches if launch.failure is not None), None)
    return CaseCost(case=recording.case, phases=cost_of_profiling(recording), failure=failure)


def cost_of_profiling(recording: CostRecording) -> tuple[PhaseCost, ...]:
    """Phases in the layout's order, then totals, from the launches that came to their end."""
    launches = [launch for launch in recording.launches if launch.failure is None and launch.rounds]
    if not launches:
        return ()
    layout = launches[0].layout
    assert layout is not None
    names = [*layout.phases, *(total.name for total in layout.totals)]
    unprofiled = read_seconds(launches, layout, profiled=False)
    profiled = read_seconds(launches, layout, profiled=True)
    estimated = zip(
        names,
        _levels(unprofiled, recording.case.id),
        _levels(profiled, recording.case.id),
        _ratios(log_ratios(profiled, unprofiled), recording.case.id),
        strict=True,
    )
    return tuple(
        PhaseCost(phase=name, unprofiled=without, profiled=with_it, ratio=ratio)
        for name, without, with_it, ratio in estimated
    )


def read_seconds(launches: Sequence[WeighingTrial], layout: Layout, *, profiled: bool) -> FloatArray:
    """Per iteration: phase or total, by launch, by round."""
    rows = []
    for launch in launches:
        blocks = [each.profiled if profiled else each.unprofiled for each in launch.rounds]
        # A call shorter than the clock's resolution still has a logarithm.
        seconds = np.maximum(np.array(blocks, dtype=np.float64), 1.0) / np.array(launch.iterations) * 1e-9
        named = dict(zip(layout.phases, seconds.T, strict=True))
        totals = [np.sum([named[part] for part in total.parts], axis=0) for total in layout.totals]
        rows.append([*named.values(), *totals])
    return np.stack([pad(list(by_launch)) for by_launch in zip(*rows, strict=True)])


def _ratios(logs: FloatArray, seed: str) -> list[Estimate]:
    if logs.shape[1] == 1:
        return _of_one_launch(logs, seed)
    return _estimates(ratio_of_centres(median(logs), confidence=CONFIDENCE), logs.shape[1])


def _levels(seconds: FloatArray, seed: str) -> list[Estimate]:
    if seconds.shape[1] == 1:
        return _of_one_launch(np.log(seconds), seed)
    return _estimates(level(median(seconds), confidence=CONFIDENCE), seconds.shape[1])


def _of_one_launch(logs: FloatArray, seed: str) -> list[Estimate]:
    """All that one launch allows: an interval over its rounds."""
    over_rounds = resample_launch(
        logs[:, 0], "median", confidence=CONFIDENCE, generator=generator_for(seed, "profiler")
    )
    return _estimates(exponentiate(over_rounds), 1)


def _estimates(interval: Interval, num_launches: int) -> list[Estimate]:
    method = Method.T_LAUNCHES if num_launches > 1 else Method.BOOTSTRAP_BLOCKS
    counts = [num_launches] * interval.point.size
    return to_estimates(interval, counts, confidence=CONFIDENCE, method=method)
