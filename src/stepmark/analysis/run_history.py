"""The history of cases: what stored runs of unchanged code tell about the spread from run to run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from stepmark.analysis.case_pairs import case_facts
from stepmark.analysis.launch_levels import read_levels, times_of
from stepmark.analysis.run_facts import Facts, replicates, run_facts
from stepmark.analysis.trials import CaseTrials, gather
from stepmark.records.comparison import Centre, RunSpread
from stepmark.records.run import Recording, Run
from stepmark.stats.between_runs import BetweenRuns, Group, assumed, between_runs

MIN_DEGREES = 2
"""Three runs of one code, or two runs of each of two codes; with one degree t is 12.7 and decides nothing."""
ASSUMED = {Centre.MINIMUM: 0.02, Centre.MEDIAN: 0.08}
"""Standard deviation where it is not known, a choice. In a study of identical code (2026-11, one shared
virtual machine, one thread, one process a run) the 5 and 95 % quantiles of the ratio of two runs, taken for
those of a normal distribution, give 0.3 to 1.4 % by the minimum and 0.7 to 7.5 % by the median: this is above
both."""

Key = tuple[str, str]
"""Case id and phase."""
Identity = tuple[frozenset[tuple[object, str]], str]
"""Facts of run and case, and the phase: runs that share it are replications."""


class _Level(NamedTuple):
    """The level of a case in one run."""

    run_id: str
    point: float
    error: float


class History:
    """Levels of cases in earlier runs, gathered one recording at a time."""

    def __init__(self, compared: tuple[Run, ...], *, centre: Centre, num_rounds: Mapping[str, int]) -> None:
        self._compared = compared
        self._centre = centre
        self._num_rounds = num_rounds
        """By case id: as many as the comparison draws the minimum from."""
        self._levels: dict[Key, dict[Identity, list[_Level]]] = {}

    def add(self, recording: Recording) -> None:
        """Take in a run, if it is known to be a replication of something on the machine in question."""
        run = recording.run
        if not replicates(run, self._compared):
            return
        facts = run_facts(run)
        for case_id, trials in gather(recording).items():
            if case_id in self._num_rounds and trials.failure is None:
                self._add_case(run.id, trials, facts | case_facts(trials))

    def _add_case(self, run_id: str, trials: CaseTrials, facts: Facts) -> None:
        times = times_of(trials)
        if times is None:
            return
        case_id = trials.case.id
        levels = read_levels(times, centre=self._centre, num_rounds=self._num_rounds[case_id])
        if levels.num_launches < 2:
            return
        for phase, point, error in zip(levels.phases, levels.points, levels.errors, strict=True):
            identity = (frozenset(facts.items()), phase)
            groups = self._levels.setdefault((case_id, phase), {})
            groups.setdefault(identity, []).append(_Level(run_id, float(point), float(error)))

    def between(self, case_ids: Iterable[str], phase: str) -> tuple[BetweenRuns, RunSpread]:
        """The spread of a phase, from all groups of these cases; assumed where there are too few."""
        groups = list(self._groups(case_ids, phase))
        known = between_runs(groups)
        if known is None or known.degrees < MIN_DEGREES:
            deviation = ASSUMED[self._centre]
            return assumed(deviation), RunSpread(deviation=deviation, num_runs=0)
        num_runs = sum(group.levels.size for group in groups)
        return known, RunSpread(deviation=known.variance**0.5, num_runs=num_runs)

    def _groups(self, case_ids: Iterable[str], phase: str) -> Iterator[Group]:
        """Replications of these cases, each run once: where a comparison is across dtypes or modes, a run may
        hold both cases of the pair, and the second shares the mood of the first."""
        taken: set[str] = set()
        for case_id in dict.fromkeys(case_ids):
            for levels in self._levels.get((case_id, phase), {}).values():
                fresh = [level for level in levels if level.run_id not in taken]
                if len(fresh) > 1:
                    taken.update(level.run_id for level in fresh)
                    yield Group(
                        levels=np.array([level.point for level in fresh]),
                        errors=np.array([level.error for level in fresh]),
                    )
