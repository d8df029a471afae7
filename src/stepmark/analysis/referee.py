"""The referee of a run in progress: the judge's own rules, asked after every launch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set

import numpy as np

from stepmark.analysis.against import Match, Side, give_verdicts, known_centres, match
from stepmark.analysis.judge import baseline_of, read_side
from stepmark.analysis.pilot import best_round_seconds
from stepmark.analysis.stopping import look_at, settled
from stepmark.analysis.sweep import flags, launches_to_confirm, num_comparisons, wants_confirmation
from stepmark.analysis.trials import CaseTrials, in_company
from stepmark.records.case import Case
from stepmark.records.run import Run
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaneTrial, LaunchTrial, Role
from stepmark.stats.arrays import FloatArray
from stepmark.stats.company import change_in_company, is_changed
from stepmark.stats.quantile import median


class RunReferee:
    """Keeps the launches of each cell and answers from them; what a launch says is worked out once.

    `wrong` tells, when it is asked, which cases an error of the audit has taken out of the comparisons.
    """

    def __init__(self, run: Run, wrong: Callable[[], Set[str]] = frozenset) -> None:
        self._run, self._wrong = run, wrong
        self._cases: dict[str, list[Case]] = {}
        for case in run.cases:
            self._cases.setdefault(case.cell.id, []).append(case)
        self._launches: dict[str, list[LaunchTrial]] = {cell: [] for cell in self._cases}
        self._round_seconds: dict[tuple[str, Isolation], float] = {}
        self._num_comparisons = num_comparisons(run)

    def note(self, trial: LaunchTrial) -> None:
        cell = trial.cell.id
        self._launches[cell].append(trial)
        launches = self._measuring(cell)
        if not launches or len(launches) != self._run.settings.pilot:
            return
        place = cell, launches[-1].isolation
        if place not in self._round_seconds:
            matches = self._matches(cell)
            seconds = best_round_seconds(launches, matches, self._run.settings, num_cells=len(self._cases))
            if seconds is not None:
                self._round_seconds[place] = seconds

    def decided(self, cell: str) -> bool:
        return settled(
            known_centres(self._matches(cell)),
            policy=self._run.policy,
            num_comparisons=self._num_comparisons,
        )

    def round_seconds(self, cell: str, isolation: Isolation) -> float | None:
        return self._round_seconds.get((cell, isolation))

    def doubted(self, cell: str) -> Collection[str]:
        return [case.variant for case in self._cases[cell] if self._is_changed(cell, case.variant)]

    def crowded(self, cell: str) -> bool:
        return any(
            len(self._levels(cell, case.variant, Role.ALONE)) >= self._run.settings.enough_alone
            and self._is_changed(cell, case.variant)
            for case in self._cases[cell]
        )

    def flagged(self) -> Mapping[str, int]:
        settings, policy = self._run.settings, self._run.policy
        if not wants_confirmation(len(self._cases), settings):
            return {}
        wrong, verdicts = self._wrong(), []
        for cell in self._cases:
            matches = self._matches(cell)
            num = in_company(self._launches[cell]).counted
            look = look_at(
                known_centres(matches),
                num,
                settings=settings,
                policy=policy,
                num_comparisons=self._num_comparisons,
            )
            for each in matches:
                verdict = give_verdicts(each, policy=policy, settings=settings, look=look)[0]
                if verdict.case not in wrong and verdict.baseline not in wrong:
                    verdicts.append((cell, num, verdict))
        stand = flags([verdict for *_, verdict in verdicts], policy=policy)
        measured = {cell: num for (cell, num, _), stands in zip(verdicts, stand, strict=True) if stands}
        return launches_to_confirm(measured, settings)

    def _measuring(self, cell: str) -> list[LaunchTrial]:
        return [
            launch
            for launch in in_company(self._launches[cell]).launches
            if launch.role is Role.MEASURE and not launch.cut_short
        ]

    def _matches(self, cell: str) -> list[Match]:
        """Each variant against the baseline, by the launches for the verdict alone: what is flagged does not
        change with what becomes of it afterwards."""
        measuring = [launch for launch in self._launches[cell] if launch.role is Role.MEASURE]
        together = in_company(measuring)
        lanes: dict[str, dict[int, LaneTrial]] = {}
        for launch in together.launches:
            for lane in launch.lanes:
                lanes.setdefault(lane.variant, {})[launch.number] = lane
        sides = {
            case.id: read_side(CaseTrials(case=case, lanes=lanes.get(case.variant, {}), cell=together))
            for case in self._cases[cell]
        }
        pairs: list[tuple[Side, Side]] = [
            (side, baseline_of(side, sides, self._run)) for side in sides.values()
        ]
        settings = self._run.settings
        return [match(side, base, settings=settings) for side, base in pairs if side is not base]

    def _levels(self, cell: str, variant: str, role: Role) -> FloatArray:
        """Median of the primary phase in each launch of this role in one process."""
        lanes = {
            launch.number: lane
            for launch in self._launches[cell]
            if launch.role is role and launch.isolation is self._run.settings.isolation
            for lane in launch.lanes
            if lane.variant == variant
        }
        case = next(case for case in self._cases[cell] if case.variant == variant)
        side = read_side(CaseTrials(case=case, lanes=lanes))
        if side.times is None or side.primary not in side.times.phases:
            return np.array([])
        levels: FloatArray = median(side.times.rows((side.primary,))[0])
        return levels[levels > 0.0]

    def _is_changed(self, cell: str, variant: str) -> bool:
        company, alone = (self._levels(cell, variant, role) for role in (Role.MEASURE, Role.ALONE))
        return is_changed(change_in_company(company, alone))
