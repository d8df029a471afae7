"""The trials of one case, gathered from all over a recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stepmark.records.case import Case
from stepmark.records.outcome import Failure, Outcome
from stepmark.records.run import Recording
from stepmark.records.sample import Layout
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaneTrial, LaunchTrial, Role, SoloTrial, counting, crowded_out


@dataclass(frozen=True)
class CellLaunches:
    """The launches of one cell that its verdicts rest on."""

    launches: tuple[LaunchTrial, ...] = ()
    """In ascending order of their number; those without company are not among them, nor those in one process
    where company turned out to change a level and the cell was measured again in separate ones."""

    @property
    def isolation(self) -> Isolation:
        """Where the variants lived."""
        return self.launches[-1].isolation if self.launches else Isolation.SHARED

    @property
    def completed(self) -> frozenset[int]:
        """Numbers of the launches for the verdict that came to their end."""
        return frozenset(
            launch.number for launch in self.launches if launch.role is Role.MEASURE and not launch.cut_short
        )

    @property
    def counted(self) -> int:
        """How many these are: what looks are made after."""
        return len(self.completed)

    @property
    def confirming(self) -> frozenset[int]:
        """Numbers of the launches that measured a flagged cell again."""
        return frozenset(launch.number for launch in self.launches if launch.role is Role.CONFIRM)

    @property
    def seconds(self) -> float:
        """Of a launch, on average."""
        spent = [launch.seconds for launch in self.launches]
        return sum(spent) / len(spent) if spent else 0.0


@dataclass(frozen=True)
class CaseTrials:
    """One case: its solo pass, and its lane in each launch of its cell."""

    case: Case
    solo: SoloTrial | None = None
    lanes: Mapping[int, LaneTrial] = field(default_factory=dict)
    """By number of the launch, in ascending order."""
    cell: CellLaunches = field(default_factory=CellLaunches)
    failed_elsewhere: Failure | None = None
    """The first failure in a launch that is not among the lanes: without company, or before the cell was set
    apart."""

    @property
    def measured(self) -> Mapping[int, LaneTrial]:
        """The lanes that have at least one complete block."""
        return {number: lane for number, lane in self.lanes.items() if lane.rounds and lane.samples}

    @property
    def failure(self) -> Failure | None:
        """Of the solo pass; else the first of a launch, however many samples came before it."""
        if self.solo is not None and self.solo.failure is not None:
            return self.solo.failure
        seen = next((lane.failure for lane in self.lanes.values() if lane.failure is not None), None)
        return seen or self.failed_elsewhere

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
    by_cell: dict[str, list[LaunchTrial]] = {}
    for launch in recording.launches:
        by_cell.setdefault(launch.cell.id, []).append(launch)
    cells = {id: in_company(launches) for id, launches in by_cell.items()}
    lanes: dict[tuple[str, str], dict[int, LaneTrial]] = {}
    for id, cell in cells.items():
        for launch in cell.launches:
            for lane in launch.lanes:
                lanes.setdefault((id, lane.variant), {})[launch.number] = lane
    failures: dict[tuple[str, str], Failure] = {}
    for launch in sorted(recording.launches, key=lambda launch: launch.number):
        for lane in launch.lanes:
            was_before = launch.isolation is not cells[launch.cell.id].isolation
            if lane.failure is not None and not (was_before and crowded_out(launch, lane)):
                failures.setdefault((launch.cell.id, lane.variant), lane.failure)
    gathered = {}
    for case in recording.run.cases:
        id = case.cell.id
        gathered[case.id] = CaseTrials(
            case=case,
            solo=solos.get(case.id),
            lanes=lanes.get((id, case.variant), {}),
            cell=cells.get(id, CellLaunches()),
            failed_elsewhere=failures.get((id, case.variant)),
        )
    return gathered


def in_company(launches: Iterable[LaunchTrial]) -> CellLaunches:
    """Of one cell's launches those that count."""
    return CellLaunches(tuple(sorted(counting(launches), key=lambda launch: launch.number)))
