"""The trials of one case, gathered from all over a recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stepmark.records.case import Case
from stepmark.records.outcome import Failure, Outcome
from stepmark.records.run import Recording
from stepmark.records.sample import Layout
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaneTrial, SoloTrial


@dataclass(frozen=True)
class CaseTrials:
    """One case's solo pass and its lane in every launch of its cell."""

    case: Case
    solo: SoloTrial | None = None
    lanes: Mapping[int, LaneTrial] = field(default_factory=dict)
    """By number of the launch, in ascending order."""
    separate: bool = False
    """Whether any of the launches gave each variant a process of its own."""

    @property
    def measured(self) -> Mapping[int, LaneTrial]:
        """The lanes that have at least one complete block."""
        return {number: lane for number, lane in self.lanes.items() if lane.rounds and lane.samples}

    @property
    def failure(self) -> Failure | None:
        """Of the solo pass; else the first in company, however many samples came before it."""
        if self.solo is not None and self.solo.failure is not None:
            return self.solo.failure
        return next((lane.failure for lane in self.lanes.values() if lane.failure is not None), None)

    @property
    def outcome(self) -> Outcome | None:
        """None while there is neither a failure nor a sample."""
        if self.failure is not None:
            return self.failure.outcome
        return Outcome.MEASURED if self.measured else None

    @property
    def layout(self) -> Layout | None:
        """As the lanes say; else as the solo pass saw it."""
        seen = next((lane.layout for lane in self.measured.values() if lane.layout is not None), None)
        if seen is None and self.solo is not None and self.solo.evidence is not None:
            return self.solo.evidence.layout
        return seen


def gather(recording: Recording) -> dict[str, CaseTrials]:
    """By case id, one entry for every case of the run, in its order."""
    solos = {solo.case.id: solo for solo in recording.solos}
    lanes: dict[tuple[str, str], dict[int, LaneTrial]] = {}
    separate = set()
    for launch in sorted(recording.launches, key=lambda launch: launch.number):
        cell = launch.cell.id
        if launch.isolation is Isolation.SEPARATE:
            separate.add(cell)
        for lane in launch.lanes:
            lanes.setdefault((cell, lane.variant), {})[launch.number] = lane
    gathered = {}
    for case in recording.run.cases:
        cell = case.cell.id
        gathered[case.id] = CaseTrials(
            case=case,
            solo=solos.get(case.id),
            lanes=lanes.get((cell, case.variant), {}),
            separate=cell in separate,
        )
    return gathered
