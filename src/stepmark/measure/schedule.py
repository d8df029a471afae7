"""The schedule: what to run next, given what has come back.

Every case first passes alone. Then launches go round the cells: the first launch of every cell in random
order, then the second of every cell, and so on. Launches of one cell are thus spread over the whole run, so
that their spread contains the machine's slow changes, and a run that is cut short has a little of everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from stepmark.measure.assignment import Assignment, LaunchAssignment, SoloAssignment
from stepmark.records.case import Case, Cell
from stepmark.records.run import Run
from stepmark.records.trial import LaunchTrial, SoloTrial, Trial


class Schedule:
    """Pure bookkeeping: `next` gives an assignment, `note` takes its trial; time is passed in."""

    def __init__(self, run: Run, past: Iterable[Trial] = ()) -> None:
        self._run = run
        self._source = {outline.name: run.sources[outline.source_index] for outline in run.suites}
        self._cells: dict[str, Cell] = {case.cell.id: case.cell for case in run.cases}
        self._alive: dict[str, dict[str, Case]] = {cell: {} for cell in self._cells}
        """By cell and variant."""
        for case in run.cases:
            self._alive[case.cell.id][case.variant] = case
        self._soloed: set[str] = set()
        self._numbers: dict[str, int] = dict.fromkeys(self._cells, 0)
        """The next launch number of each cell."""
        self._counted: dict[str, int] = dict.fromkeys(self._cells, 0)
        """Launches that ran to their end."""
        self._done = 0
        for trial in past:
            self.note(trial)

    def next(self, elapsed: float) -> Assignment | None:
        """The next assignment, or None when all is measured or the budget is spent."""
        for case in self._run.cases:
            if case.id not in self._soloed:
                return SoloAssignment(
                    case=case, source=self._source[case.cell.suite], settings=self._run.settings
                )
        budget = self._run.settings.budget
        if budget is not None and elapsed >= budget:
            return None
        return self._next_launch()

    def _next_launch(self) -> LaunchAssignment | None:
        wanting = [cell for cell in self._cells if self._wants(cell)]
        if not wanting:
            return None
        fewest = min(self._counted[cell] for cell in wanting)
        behind = [cell for cell in wanting if self._counted[cell] == fewest]
        chosen = Random(f"{self._run.settings.seed}/order/{self._done}").choice(behind)
        cell = self._cells[chosen]
        return LaunchAssignment(
            cell=cell,
            number=self._numbers[chosen],
            cases=tuple(self._alive[chosen].values()),
            source=self._source[cell.suite],
            settings=self._run.settings,
        )

    def _wants(self, cell: str) -> bool:
        return self._counted[cell] < self._run.settings.launches and bool(self._alive[cell])

    def note(self, trial: Trial) -> None:
        """Learn from a trial: failures leave the schedule, cut-off launches do not count."""
        self._done += 1
        match trial:
            case SoloTrial():
                self._soloed.add(trial.case.id)
                if trial.failure is not None:
                    self._alive[trial.case.cell.id].pop(trial.case.variant, None)
            case LaunchTrial():
                self._note_launch(trial)

    def _note_launch(self, trial: LaunchTrial) -> None:
        cell = trial.cell.id
        for lane in trial.lanes:
            if lane.failure is not None:
                self._alive[cell].pop(lane.variant, None)
        self._numbers[cell] = max(self._numbers[cell], trial.number + 1)
        if not trial.cut_short:
            self._counted[cell] += 1

    @property
    def progress(self) -> tuple[int, int]:
        """Trials done, and how many there will be if nothing else fails."""
        solos = len(self._run.cases) - len(self._soloed)
        launches = sum(
            self._run.settings.launches - self._counted[cell] for cell in self._cells if self._wants(cell)
        )
        return self._done, self._done + solos + launches
