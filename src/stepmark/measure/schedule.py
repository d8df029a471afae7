"""The schedule: what to run next, given what has come back.

Launches go round the cells: the first launch of every cell in random order, then the second of every cell,
and so on. Launches of one cell are thus spread over the whole run, so that their spread contains the
machine's slow changes, and a run that is cut short has a little of everything. Before a cell's first launch
each of its cases passes alone; a cell that the budget does not reach costs nothing.
After its pilot a cell has each case launched without company once; at its looks a cell may be decided and
done; at the end the flagged cells of a sweep are measured again. Variants that do not fit on an accelerator
together, by what each took alone or because one ran out of memory beside the others, run one after another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from math import ceil
from random import Random

from msgspec.structs import replace

from stepmark.measure.assignment import Assignment, LaunchAssignment, SoloAssignment
from stepmark.measure.fitting import room_for
from stepmark.measure.referee import NoReferee, Referee
from stepmark.records.case import Case, Cell
from stepmark.records.memory import DeviceMemory
from stepmark.records.run import Run
from stepmark.records.settings import Isolation, Settings
from stepmark.records.trial import LaunchTrial, Role, SoloTrial, Trial, crowded_out
from stepmark.stats.sequential import looks

RESERVE = 0.15
"""Of a sweep's budget, kept for measuring flagged cells again; where none is flagged, measuring goes on."""
LEAST_LAUNCHES = 3
"""Of a single cell, or one with a budget of its own: with two, Student's factor is 12.7, and nothing but
gross differences is decided."""


class _Asked(IntEnum):
    """When the referee was last asked which cells are flagged."""

    NEVER = 0
    IN_RESERVE = 1
    AT_THE_END = 2


@dataclass
class _CellState:
    """What is known about one cell."""

    cell: Cell
    isolation: Isolation
    alive: dict[str, Case] = field(default_factory=dict)
    """By variant: those that have not failed."""
    begun: bool = False
    """One of its cases has passed alone."""
    number: int = 0
    """Of the next launch."""
    counted: int = 0
    """Launches for the verdict that ran to their end, in the present isolation."""
    measured: int = 0
    seconds: float = 0.0
    """Launches for the verdict, whatever became of them, and what they took."""
    alone: Counter[str] = field(default_factory=Counter)
    doubted: frozenset[str] = frozenset()
    """Variants whose level in company looks changed."""
    confirmed: int = 0
    decided: bool = False
    memory: dict[str, DeviceMemory] = field(default_factory=dict)
    """By variant: what it took of an accelerator alone."""

    @property
    def awaits_launch(self) -> bool:
        """It was entered, and nothing of it has been launched."""
        return self.begun and self.number == 0

    def room_for(self, isolation: Isolation) -> Isolation:
        """The isolation that is wanted, or the one in which all fit on the device."""
        return room_for([self.memory[each] for each in self.alive if each in self.memory], isolation)


class Schedule:
    """Pure bookkeeping: `next` gives an assignment, `note` takes its trial; time is passed in."""

    def __init__(self, run: Run, past: Iterable[Trial] = (), referee: Referee | None = None) -> None:
        self._run = run
        self._settings: Settings = run.settings
        self._referee = referee or NoReferee()
        self._source = {outline.name: run.sources[outline.source_index] for outline in run.suites}
        self._cells: dict[str, _CellState] = {}
        for case in run.cases:
            fresh = _CellState(case.cell, run.settings.isolation)
            self._cells.setdefault(case.cell.id, fresh).alive[case.variant] = case
        self._looks = frozenset(looks(run.settings.launches))
        self._soloed: set[str] = set()
        self._asked = _Asked.NEVER
        self._flagged: dict[str, int] = {}
        """Fresh launches wanted by cell, as the referee said when it was asked."""
        self._done = 0
        for trial in past:
            self.note(trial)

    def next(self, elapsed: float) -> Assignment | None:
        """The next assignment, or None when all is measured or the budget is spent."""
        budget = self._settings.budget
        if budget == 0.0:
            return self._next_solo(self._cells.values())
        if budget is not None and elapsed >= budget:
            return self._next_owed()
        if budget is not None and elapsed >= budget * (1.0 - self._reserve):
            self._ask_for_flagged(_Asked.IN_RESERVE)
            if self._flagged:
                return self._next_confirming()
        assignment = self._next_alone() or self._next_measuring()
        if assignment is not None:
            return assignment
        self._ask_for_flagged(_Asked.AT_THE_END)
        return self._next_confirming()

    def _next_owed(self) -> Assignment | None:
        """The budget is spent. A cell that has begun is not left without its first launch, nor a run of one
        cell without the launches that an answer needs."""
        least = LEAST_LAUNCHES if len(self._cells) == 1 else 1
        owed = [each for each in self._cells.values() if self._wants(each) and each.counted < least]
        begun = [each for each in owed if len(self._cells) == 1 or each.awaits_launch]
        return self._next_solo(begun) or (self._launch(begun[0]) if begun else None)

    def _next_solo(self, states: Iterable[_CellState]) -> SoloAssignment | None:
        """The first case of these cells that has not passed alone."""
        for state in states:
            for case in state.alive.values():
                if case.id not in self._soloed:
                    return SoloAssignment(
                        case=case, source=self._source[case.cell.suite], settings=self._settings
                    )
        return None

    @property
    def _reserve(self) -> float:
        return RESERVE if len(self._cells) > 1 and self._settings.confirm else 0.0

    def _next_measuring(self) -> Assignment | None:
        wanting = [state for state in self._cells.values() if self._wants(state)]
        if not wanting:
            return None
        fewest = min(state.counted for state in wanting)
        behind = [state for state in wanting if state.counted == fewest]
        state = next((each for each in behind if each.awaits_launch), None) or self._choose(behind)
        return self._next_solo([state]) or self._launch(state)

    def _next_alone(self) -> LaunchAssignment | None:
        for state in self._cells.values():
            for variant in self._lonely(state):
                return self._launch(state, role=Role.ALONE, cases=(state.alive[variant],))
        return None

    def _ask_for_flagged(self, when: _Asked) -> None:
        """Once where the reserve begins and once where all is measured; what was flagged stays so."""
        if not self._flagged and self._asked < when:
            self._asked, self._flagged = when, dict(self._referee.flagged())

    def _next_confirming(self) -> LaunchAssignment | None:
        wanting = [self._cells[cell] for cell, num in self._flagged.items() if self._lacks(cell, num)]
        return self._launch(self._choose(wanting), role=Role.CONFIRM) if wanting else None

    def _choose(self, states: Iterable[_CellState]) -> _CellState:
        return Random(f"{self._settings.seed}/order/{self._done}").choice([*states])

    def _launch(
        self, state: _CellState, *, role: Role = Role.MEASURE, cases: tuple[Case, ...] = ()
    ) -> LaunchAssignment:
        seconds = self._settings.round_seconds
        if role is not Role.ALONE:  # a level need not be known as well as a ratio
            seconds = self._referee.round_seconds(state.cell.id, state.isolation) or seconds
        return LaunchAssignment(
            cell=state.cell,
            number=state.number,
            role=role,
            cases=cases or tuple(state.alive.values()),
            source=self._source[state.cell.suite],
            settings=replace(self._settings, isolation=state.isolation, round_seconds=seconds),
        )

    def _wants(self, state: _CellState) -> bool:
        return bool(state.alive) and not state.decided and self._launches_left(state) > 0

    def _launches_left(self, state: _CellState) -> int:
        """At most, by their number and by the cell's budget."""
        left = self._settings.launches - state.counted
        if self._settings.cell_budget is None or not state.seconds:
            return left
        in_time = (self._settings.cell_budget - state.seconds) * state.measured / state.seconds
        return min(left, max(LEAST_LAUNCHES - state.counted, ceil(in_time)))

    def _lonely(self, state: _CellState) -> list[str]:
        """Variants that are to be launched without company now."""
        if not self._checks_company(state):
            return []
        if state.counted < max(1, self._settings.pilot) and self._wants(state):
            return []
        return [variant for variant in state.alive if state.alone[variant] < (self._enough(variant, state))]

    def _checks_company(self, state: _CellState) -> bool:
        """Levels beside others and alone can be held against each other from two launches on."""
        return state.isolation is Isolation.SHARED and len(state.alive) > 1 and self._settings.launches > 1

    def _enough(self, variant: str, state: _CellState) -> int:
        """Launches without company that the variant needs."""
        doubted = variant in state.doubted
        return max(self._settings.alone, self._settings.enough_alone if doubted else 0)

    def _lacks(self, cell: str, num: int) -> bool:
        return self._cells[cell].confirmed < num and bool(self._cells[cell].alive)

    def note(self, trial: Trial) -> None:
        """Learn from a trial: failures leave the schedule, cut-off launches do not count."""
        self._done += 1
        match trial:
            case SoloTrial():
                self._soloed.add(trial.case.id)
                self._note_solo(trial)
            case LaunchTrial():
                self._note_launch(trial)

    def _note_solo(self, trial: SoloTrial) -> None:
        state, variant = self._cells[trial.case.cell.id], trial.case.variant
        state.begun = True
        if trial.failure is not None:
            state.alive.pop(variant, None)
        elif trial.evidence is not None and trial.evidence.device_memory is not None:
            state.memory[variant] = trial.evidence.device_memory
        state.isolation = state.room_for(self._settings.isolation)

    def _note_launch(self, trial: LaunchTrial) -> None:
        self._referee.note(trial)
        state = self._cells[trial.cell.id]
        for lane in trial.lanes:
            if crowded_out(trial, lane):
                self._set_apart(state, Isolation.ALONE)
            elif lane.failure is not None:
                state.alive.pop(lane.variant, None)
        state.number = max(state.number, trial.number + 1)
        if trial.role is Role.MEASURE:
            state.measured, state.seconds = state.measured + 1, state.seconds + trial.seconds
        match trial.role:
            case Role.ALONE:
                state.alone.update(lane.variant for lane in trial.lanes)
            case Role.CONFIRM if not trial.cut_short:
                state.confirmed += 1
            case Role.MEASURE if not trial.cut_short and trial.isolation is state.isolation:
                state.counted += 1
                looks_now = state.counted in self._looks
                state.decided = looks_now and self._settings.stop and self._referee.decided(trial.cell.id)
        if trial.role is Role.ALONE or state.counted in self._looks or not self._wants(state):
            self._look_at_company(state)

    def _look_at_company(self, state: _CellState) -> None:
        if state.isolation is not Isolation.SHARED or not state.alone:
            return
        state.doubted = frozenset(self._referee.doubted(state.cell.id))
        if state.doubted and self._referee.crowded(state.cell.id):
            self._set_apart(state, state.room_for(Isolation.SEPARATE))

    def _set_apart(self, state: _CellState, isolation: Isolation) -> None:
        """Company changes a level here, or takes the memory: from now on every case has a process of its own,
        and counting begins anew."""
        state.isolation, state.counted, state.decided = isolation, 0, False

    @property
    def progress(self) -> tuple[int, int]:
        """Trials done, and how many there will be if nothing else fails or is decided before its end."""
        solos = len(self._run.cases) - len(self._soloed)
        measuring = sum(self._launches_left(state) for state in self._cells.values() if self._wants(state))
        alone = sum(
            max(0, self._settings.alone - state.alone[variant])
            for state in self._cells.values()
            if self._checks_company(state)
            for variant in state.alive
        )
        confirming = sum(
            num - self._cells[cell].confirmed for cell, num in self._flagged.items() if self._lacks(cell, num)
        )
        return self._done, self._done + solos + measuring + alone + confirming
