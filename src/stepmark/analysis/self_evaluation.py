"""Evaluation of a self-test: rates with intervals, and the smallest effect in a given time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from stepmark.analysis.times import Times, read_times
from stepmark.analysis.trials import gather, in_company
from stepmark.records.run import Recording
from stepmark.records.self_test import Comparison, Detection, Identical, Observations, Rate, Reach
from stepmark.records.verdict import VerdictKind
from stepmark.stats.arrays import FloatArray
from stepmark.stats.power import detectable
from stepmark.stats.proportion import proportion_interval
from stepmark.stats.quantile import median
from stepmark.stats.ratio import log_ratios

RATE_CONFIDENCE = 0.95
HORIZONS = (10.0, 60.0, 600.0)
"""Seconds of measuring."""


def launch_centres(recording: Recording) -> tuple[float, ...]:
    """The logarithm of the ratio in each launch, of a run with one cell and two variants, baseline first."""
    sides = [
        read_times(trials.measured, trials.layout)
        for trials in gather(recording).values()
        if trials.layout is not None and trials.measured
    ]
    if len(sides) != 2:
        return ()
    baseline, case = sides
    shared = [number for number in case.launches if number in baseline.launches]
    logs = log_ratios(_primary(case, shared, baseline), _primary(baseline, shared, case))
    centres = median(logs)
    return tuple(float(centre) for centre in centres if not math.isnan(centre))


def launch_seconds(recording: Recording) -> tuple[float, ...]:
    """How long each launch took that the verdict rests on, of a run with one cell."""
    return tuple(launch.seconds for launch in in_company(recording.launches).launches)


def _primary(times: Times, launches: Sequence[int], partner: Times) -> FloatArray:
    """Launch by round, as wide as both have rounds."""
    width = min(times.seconds.shape[-1], partner.seconds.shape[-1])
    (rows,) = times.rows((times.layout.primary,))
    shown: FloatArray = rows[[times.launches.index(number) for number in launches], :width]
    return shown


def identical(observations: Observations) -> tuple[Identical, ...]:
    """By workload, then all together where there are several."""
    same = [one for one in observations.comparisons if one.dose == 0.0 and one.ratio is not None]
    names = _workloads(same)
    groups = [(name, [one for one in same if one.workload == name]) for name in names]
    rows = [_identical(name, group) for name, group in groups]
    return (*rows, _identical(None, same)) if len(rows) > 1 else tuple(rows)


def _identical(workload: str | None, group: Sequence[Comparison]) -> Identical:
    alarming = (VerdictKind.FASTER, VerdictKind.SLOWER)
    return Identical(
        workload=workload,
        alarms=rate(one.kind in alarming for one in group),
        equivalent=rate(one.kind is VerdictKind.EQUIVALENT for one in group),
        covers=rate(one.ratio is not None and one.ratio.low <= 1.0 <= one.ratio.high for one in group),
    )


def detections(observations: Observations) -> tuple[Detection, ...]:
    """By workload and dose."""
    dosed = [one for one in observations.comparisons if one.dose > 0.0 and one.ratio is not None]
    rows = []
    for workload in _workloads(dosed):
        for dose in sorted({one.dose for one in dosed if one.workload == workload}):
            group = [one for one in dosed if (one.workload, one.dose) == (workload, dose)]
            rows.append(
                Detection(
                    workload=workload,
                    dose=dose,
                    counted=group[0].counted,
                    called=rate(one.kind is VerdictKind.SLOWER for one in group),
                    above=rate(one.ratio is not None and one.ratio.low > 1.0 for one in group),
                )
            )
    return tuple(rows)


def reaches(observations: Observations, *, confidence: float) -> tuple[Reach, ...]:
    """From the spread of launches of identical code, pooled over comparisons, and the length of a launch."""
    same = [one for one in observations.comparisons if one.dose == 0.0 and one.centres]
    rows = []
    for workload in _workloads(same):
        group = [one for one in same if one.workload == workload]
        deviation = pooled_deviation([one.centres for one in group])
        lengths = [seconds for one in group for seconds in one.launch_seconds]
        if deviation is None or not lengths or sum(lengths) <= 0.0:
            continue
        length = sum(lengths) / len(lengths)
        effects = [(horizon, _effect(deviation, int(horizon / length), confidence)) for horizon in HORIZONS]
        rows.append(
            Reach(workload=workload, deviation=deviation, launch_seconds=length, effects=tuple(effects))
        )
    return tuple(rows)


def pooled_deviation(groups: Iterable[Sequence[float]]) -> float | None:
    """Within the groups, each around its own mean; None where no group has two values.

    A comparison whose launches happen to agree ends sooner, but also counts for less: early stopping moves
    the spread by under 3 % (simulated in tests/analysis/test_self_evaluation.py).
    """
    squares, freedom = 0.0, 0
    for group in groups:
        values = np.asarray(group, dtype=np.float64)
        if values.size > 1:
            squares += float(np.sum((values - values.mean()) ** 2))
            freedom += values.size - 1
    return math.sqrt(squares / freedom) if freedom else None


def _effect(deviation: float, num: int, confidence: float) -> float | None:
    effect = detectable(deviation, num, confidence=confidence)
    return math.expm1(effect) if math.isfinite(effect) else None


def rate(happened: Iterable[bool]) -> Rate:
    answers = list(happened)
    low, high = proportion_interval(sum(answers), len(answers), confidence=RATE_CONFIDENCE)
    return Rate(num=sum(answers), of=len(answers), low=low, high=high)


def _workloads(comparisons: Iterable[Comparison]) -> list[str]:
    """Each once, in the order of appearance."""
    return list(dict.fromkeys(one.workload for one in comparisons))
