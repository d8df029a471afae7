"""The history of one case: its points sorted into series, each series cut where its level changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from stepmark.records.estimate import Estimate, Method
from stepmark.records.history import CaseHistory, ChangePoint, HistoryPoint, Segment, Series
from stepmark.stats.arrays import FloatArray, Interval
from stepmark.stats.segments import MIN_LENGTH, Noise, cuts_of, noise_of, segment_change, segment_mean
from stepmark.stats.student import exponentiate

CONFIDENCE = 0.95
METHOD = (
    "PELT (ruptures) on logarithms of levels, squared distance, 3 log n times the noise per cut,"
    f" at least {MIN_LENGTH} runs a segment; series by machine, device, threads, torch and flags"
)

Facts = Mapping[str, tuple[tuple[str, str], ...]]
"""By key of conditions: what all points with that key share."""
Stretch = Sequence[HistoryPoint]


def segment(
    points: Iterable[HistoryPoint], *, case: str, phase: str, facts: Facts | None = None
) -> CaseHistory:
    """Every point is kept, those in a series of their own too; none is compared with another series."""
    ordered = sorted(points, key=lambda point: (point.started, point.run))
    grouped: dict[str, list[HistoryPoint]] = {}
    for point in ordered:
        grouped.setdefault(point.conditions, []).append(point)
    newest_first = sorted(grouped, key=lambda key: grouped[key][-1].started, reverse=True)
    segments: list[Segment] = []
    changes: list[ChangePoint] = []
    for key in newest_first:
        found = _segments(grouped[key])
        segments += found[0]
        changes += found[1]
    return CaseHistory(
        case=case,
        phase=phase,
        points=tuple(ordered),
        segments=tuple(segments),
        changes=tuple(sorted(changes, key=lambda change: (change.at, change.run))),
        method=METHOD,
        series=_series({key: grouped[key] for key in newest_first}, facts or {}),
    )


def _series(grouped: Mapping[str, Stretch], facts: Facts) -> tuple[Series, ...]:
    known = {key: dict(facts.get(key, ())) for key in grouped}
    names = dict.fromkeys(name for values in known.values() for name in values)
    differs = tuple(name for name in names if len({values.get(name) for values in known.values()}) > 1)
    return tuple(
        Series(
            key=key,
            machine=points[-1].machine,
            facts=tuple(facts.get(key, ())),
            differs=differs,
            num_points=len(points),
        )
        for key, points in grouped.items()
    )


def _segments(points: Stretch) -> tuple[list[Segment], list[ChangePoint]]:
    """Of one series; a difference that is zero or below in some run has no logarithm and is not cut."""
    levels = np.array([point.level.point for point in points])
    if levels.min() <= 0.0:
        return [], []
    logs = np.log(levels)
    noise = noise_of(logs)
    edges = [0, *cuts_of(logs, noise), len(points)]
    segments = [_segment(points[begin:end], logs[begin:end], noise) for begin, end in pairwise(edges)]
    changes = [
        _change(points[cut - 1], points[cut], logs[begin:cut], logs[cut:end], noise)
        for begin, cut, end in zip(edges, edges[1:], edges[2:], strict=False)
    ]
    return segments, changes


def _segment(points: Stretch, logs: FloatArray, noise: Noise) -> Segment:
    first, last = points[0], points[-1]
    mean = first.level
    if len(points) > 1:
        interval = segment_mean(logs, noise, confidence=CONFIDENCE)
        mean = _estimate(interval, len(points), Method.T_RUNS)
    return Segment(
        begin=first.started,
        end=last.started,
        mean=mean,
        series=first.conditions,
        first_run=first.run,
        last_run=last.run,
    )


def _change(
    last: HistoryPoint, first: HistoryPoint, before: FloatArray, after: FloatArray, noise: Noise
) -> ChangePoint:
    interval = segment_change(before, after, noise, confidence=CONFIDENCE)
    return ChangePoint(
        run=first.run,
        at=first.started,
        change=_estimate(interval, before.size + after.size, Method.WELCH_RUNS),
        series=first.conditions,
        before=last.run,
    )


def _estimate(logs: Interval, num: int, method: Method) -> Estimate:
    point, low, high = (float(edge) for edge in exponentiate(logs))
    return Estimate(point=point, low=low, high=high, confidence=CONFIDENCE, method=method, num_launches=num)
