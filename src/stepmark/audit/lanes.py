"""What the rules look at: one case with its solo pass and its lane in every launch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stepmark.records.case import Case
from stepmark.records.run import Recording, Run
from stepmark.records.trial import LaneTrial, LaunchTrial, SoloTrial


@dataclass(frozen=True)
class CaseLanes:
    """One case of a run."""

    run: Run
    case: Case
    id: str
    """The case's id."""
    solo: SoloTrial | None
    lanes: tuple[tuple[LaunchTrial, LaneTrial], ...]
    """In the order of the launches."""

    @property
    def measured(self) -> tuple[LaneTrial, ...]:
        """The lanes with at least one complete block."""
        return tuple(lane for _, lane in self.lanes if lane.rounds and lane.samples)


def each_case(recording: Recording) -> Iterator[CaseLanes]:
    """In the order of the run."""
    solos = {solo.case.id: solo for solo in recording.solos}
    lanes: dict[tuple[str, str], list[tuple[LaunchTrial, LaneTrial]]] = {}
    for launch in sorted(recording.launches, key=lambda launch: launch.number):
        cell = launch.cell.id
        for lane in launch.lanes:
            lanes.setdefault((cell, lane.variant), []).append((launch, lane))
    for case in recording.run.cases:
        yield CaseLanes(
            run=recording.run,
            case=case,
            id=case.id,
            solo=solos.get(case.id),
            lanes=tuple(lanes.get((case.cell.id, case.variant), ())),
        )
