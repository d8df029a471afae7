"""Boundness: the host's time of each phase beside the device's, and who decided how long it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from stepmark.records.estimate import Bound
from stepmark.records.sample import Layout, Sample
from stepmark.records.trial import LaneTrial
from stepmark.stats.blocks import integers, seconds_per_iteration
from stepmark.stats.queueing import waits_for_host


class Boundness(NamedTuple):
    """One phase or total over all launches, medians of their medians."""

    host_seconds: float
    """Per iteration."""
    lag_seconds: float | None
    """At the phase's end; None of a total."""
    bound: Bound


def boundness(lanes: Mapping[int, LaneTrial], layout: Layout) -> dict[str, Boundness]:
    """By phase and total; empty where the host does the work itself."""
    samples: dict[str, list[Sample]] = {phase: [] for phase in layout.phases}
    for lane in lanes.values():
        for sample in lane.samples:
            if sample.host and sample.phase in samples:
                samples[sample.phase].append(sample)
    known = {phase: _phase(taken) for phase, taken in samples.items() if taken}
    weights = {phase: _level(samples[phase]) for phase in known}
    for total in layout.totals:
        if all(part in known for part in total.parts):
            known[total.name] = _total([(known[part], weights[part]) for part in total.parts])
    return known


def _phase(samples: list[Sample]) -> Boundness:
    host = [np.median(seconds_per_iteration(sample.host, sample.iterations)) for sample in samples]
    lags = np.array([np.median(integers(sample.lag)) for sample in samples]) * 1e-9
    totals = np.array([np.median(integers(sample.nanoseconds)) for sample in samples]) * 1e-9
    return Boundness(
        host_seconds=float(np.median(host)),
        lag_seconds=float(np.median(lags)),
        bound=Bound.HOST if waits_for_host(lags, totals) else Bound.DEVICE,
    )


def _total(parts: list[tuple[Boundness, float]]) -> Boundness:
    """A sum is the host's where its parts that are take more than half of its time."""
    all_of_it = sum(weight for _, weight in parts)
    waiting = sum(weight for part, weight in parts if part.bound is Bound.HOST)
    return Boundness(
        host_seconds=sum(part.host_seconds for part, _ in parts),
        lag_seconds=None,
        bound=Bound.HOST if waiting > 0.5 * all_of_it else Bound.DEVICE,
    )


def _level(samples: list[Sample]) -> float:
    """Seconds of an iteration."""
    return float(np.median([np.median(seconds_per_iteration(s.nanoseconds, s.iterations)) for s in samples]))
