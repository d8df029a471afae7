"""Levels of one case in one run: one centre per launch, as logarithms, phase by launch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepmark.analysis.pairing import SHORTEST
from stepmark.analysis.times import REMAINDER, Times, read_times
from stepmark.analysis.trials import CaseTrials
from stepmark.records.comparison import Centre
from stepmark.stats.arrays import BoolArray, FloatArray, IntArray, count
from stepmark.stats.quantile import median
from stepmark.stats.unpaired import minimum

MIN_ROUNDS = 3
"""A launch that ended with fewer does not count, if others have more: one disturbed round would decide it."""


@dataclass(frozen=True)
class Levels:
    """What the launches of one case say about its phases."""

    phases: tuple[str, ...]
    logs: FloatArray
    """Of seconds per iteration: phase by launch."""

    @property
    def num_launches(self) -> int:
        return int(self.logs.shape[-1])

    @property
    def points(self) -> FloatArray:
        """Mean of each phase."""
        points: FloatArray = self.logs.mean(axis=-1)
        return points

    @property
    def errors(self) -> FloatArray:
        """Variance of each mean, from two launches on."""
        errors: FloatArray = self.logs.var(axis=-1, ddof=1) / self.num_launches
        return errors

    def rows(self, phases: tuple[str, ...]) -> Levels:
        """The named phases alone."""
        return Levels(phases=phases, logs=self.logs[[self.phases.index(phase) for phase in phases]])


def times_of(trials: CaseTrials) -> Times | None:
    """None where nothing was measured."""
    layout, lanes = trials.layout, trials.measured
    times = read_times(lanes, layout) if layout and lanes else None
    return times if times and times.phases else None


def shortest_launch(times: Times) -> int:
    """Rounds of the shortest launch that counts."""
    counts = _rounds(times)
    return int(counts[_counting(counts)].min())


def read_levels(times: Times, *, centre: Centre, num_rounds: int) -> Levels:
    """All phases but the remainder, which may be 0 and has no logarithm."""
    phases = tuple(phase for phase in times.phases if phase != REMAINDER)
    seconds = np.maximum(times.rows(phases)[:, _counting(_rounds(times))], SHORTEST)
    centres = median(seconds) if centre is Centre.MEDIAN else minimum(seconds, num=num_rounds)
    there = [place for place, row in enumerate(centres) if not np.isnan(row).any()]
    return Levels(phases=tuple(phases[place] for place in there), logs=np.log(centres[there]))


def _rounds(times: Times) -> IntArray:
    """Of each launch, those in which the primary phase has a time."""
    place = times.phases.index(times.layout.primary) if times.layout.primary in times.phases else 0
    return count(times.seconds[place])


def _counting(counts: IntArray) -> BoolArray:
    return np.asarray(counts >= min(MIN_ROUNDS, int(counts.max())))
