"""Played runs: schedule and referee at work on a pretend machine, whose times follow a model.

The model is that of tests/support/recordings.py, with what a recording has no need of: company in one process
may slow a variant, a cell and the confirming launches may have factors of their own, and the processes of
separate isolation have levels of their own. Everything follows from the assignment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from stepmark.measure.assignment import Assignment, LaunchAssignment, SoloAssignment
from stepmark.measure.referee import Referee
from stepmark.measure.schedule import Schedule
from stepmark.records.run import Recording, Run
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaneTrial, LaunchTrial, Role, SoloTrial, Trial
from tests.support.recordings import Noise, phase_seconds
from tests.support.trials import FORWARD, make_lane, make_launch, make_solo


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What every assignment would measure here."""

    factors: Mapping[str, float] = field(default_factory=dict)
    """True time factors by variant, 1 where none is named."""
    by_cell: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Further factors in some cells, by the cell's point."""
    crowding: Mapping[str, float] = field(default_factory=dict)
    """How much slower company in one process makes a variant."""
    confirming: Mapping[str, float] = field(default_factory=dict)
    """Further factors in launches that measure a flagged cell again."""
    noise: Noise = field(default_factory=Noise)
    num_rounds: int = 6
    salt: int = 0
    """Another one is another machine, with the same factors and other noise."""

    def perform(self, assignment: Assignment) -> Trial:
        match assignment:
            case SoloAssignment():
                return make_solo(assignment.case, layout=FORWARD)
            case LaunchAssignment():
                return self._launch(assignment)

    def _launch(self, assignment: LaunchAssignment) -> LaunchTrial:
        generator = np.random.default_rng(Random(f"{self.salt}/{assignment.seed}").getrandbits(64))
        num_lanes = len(assignment.cases)
        shared = assignment.settings.isolation is Isolation.SHARED
        processes = generator.normal(0.0, self.noise.process, 1 if shared else num_lanes)
        lanes = [
            self._lane(case.variant, assignment, float(process), generator)
            for case, process in zip(assignment.cases, np.resize(processes, num_lanes), strict=True)
        ]
        return make_launch(
            assignment.cell,
            lanes,
            number=assignment.number,
            role=assignment.role,
            isolation=assignment.settings.isolation,
        )

    def _lane(
        self, variant: str, assignment: LaunchAssignment, process: float, generator: np.random.Generator
    ) -> LaneTrial:
        together = len(assignment.cases) > 1 and assignment.settings.isolation is Isolation.SHARED
        factor = self.factors.get(variant, 1.0)
        factor *= self.by_cell.get(assignment.cell.point, {}).get(variant, 1.0)
        factor *= self.crowding.get(variant, 1.0) if together else 1.0
        factor *= self.confirming.get(variant, 1.0) if assignment.role is Role.CONFIRM else 1.0
        level = np.log(factor) + process + generator.normal(0.0, self.noise.instance)
        blocks = phase_seconds(
            FORWARD,
            np.full(self.num_rounds, level),
            seconds=1e-3,
            noise=self.noise.round,
            generator=generator,
        )
        return make_lane(variant, blocks, layout=FORWARD)


def play(run: Run, machine: Machine, referee: Referee) -> Recording:
    """The whole run on a machine, as the store would return it."""
    schedule = Schedule(run, (), referee)
    trials: list[Trial] = []
    while (assignment := schedule.next(0.0)) is not None:
        trials.append(machine.perform(assignment))
        schedule.note(trials[-1])
    return recording_of(run, trials)


def recording_of(run: Run, trials: Sequence[Trial]) -> Recording:
    """As the store would return it."""
    return Recording(
        run=run,
        solos=tuple(trial for trial in trials if isinstance(trial, SoloTrial)),
        launches=tuple(trial for trial in trials if isinstance(trial, LaunchTrial)),
    )
