"""What the rules look at: one case with its solo pass, its lane in every launch, and the baseline's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from stepmark.audit.primary import primary_seconds
from stepmark.records.case import Case
from stepmark.records.evidence import Conditions, Declared, Evidence
from stepmark.records.inspection import Inspection, PhaseInspection
from stepmark.records.run import Recording, Run
from stepmark.records.trial import LaneTrial, LaunchTrial, SoloTrial
from stepmark.stats.arrays import FloatArray


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
    baseline: CaseLanes | None = field(default=None, repr=False, compare=False)
    """Of the case's cell; None for the baseline itself, and where it is not in the run."""
    siblings: Mapping[str, CaseLanes] = field(default_factory=dict, repr=False, compare=False)
    """All cases of the run by id, this one too."""
    cells: Mapping[str, Sequence[CaseLanes]] = field(default_factory=dict, repr=False, compare=False)
    """The same by cell."""

    @property
    def is_baseline(self) -> bool:
        return self.case.variant == self.run.baseline(self.case.cell.suite)

    @property
    def measured(self) -> tuple[LaneTrial, ...]:
        """The lanes with at least one complete block."""
        return tuple(lane for _, lane in self.lanes if lane.rounds and lane.samples)

    @cached_property
    def blocks(self) -> tuple[FloatArray | None, ...]:
        """Of each lane: seconds an iteration of the primary phase, by block; None where it has none."""
        times = (primary_seconds(lane) for _, lane in self.lanes)
        return tuple(each if each is not None and each.size else None for each in times)

    @cached_property
    def levels(self) -> tuple[float | None, ...]:
        """Of each lane: the median of its blocks."""
        return tuple(None if each is None else float(np.median(each)) for each in self.blocks)

    @property
    def company(self) -> Sequence[CaseLanes]:
        """All cases of the cell, this one too."""
        return self.cells.get(self.case.cell.id, ())

    @property
    def evidence(self) -> Evidence | None:
        return self.solo.evidence if self.solo else None

    @property
    def declared(self) -> Declared:
        return self.evidence.declared if self.evidence else Declared()

    @property
    def conditions(self) -> Conditions:
        return self.evidence.conditions if self.evidence else Conditions()

    @property
    def inspection(self) -> Inspection | None:
        return self.evidence.inspection if self.evidence else None

    @property
    def phases(self) -> tuple[PhaseInspection, ...]:
        """As the instrumented step saw them; none where there was no such step."""
        return self.inspection.phases if self.inspection else ()

    @property
    def unseen(self) -> bool:
        """Some work was done behind the dispatcher's back: what was not seen may still have happened."""
        return any(phase.unseen for phase in self.phases)


def each_case(recording: Recording) -> Iterator[CaseLanes]:
    """In the order of the run."""
    solos = {solo.case.id: solo for solo in recording.solos}
    lanes: dict[tuple[str, str], list[tuple[LaunchTrial, LaneTrial]]] = {}
    for launch in sorted(recording.launches, key=lambda launch: launch.number):
        cell = launch.cell.id
        for lane in launch.lanes:
            lanes.setdefault((cell, lane.variant), []).append((launch, lane))
    siblings: dict[str, CaseLanes] = {}
    cells: dict[str, list[CaseLanes]] = {}
    baselines: dict[str, CaseLanes] = {}
    names = {outline.name: outline.baseline for outline in recording.run.suites}
    for case in sorted(recording.run.cases, key=lambda case: case.variant != names[case.cell.suite]):
        cell = case.cell.id
        siblings[case.id] = CaseLanes(
            run=recording.run,
            case=case,
            id=case.id,
            solo=solos.get(case.id),
            lanes=tuple(lanes.get((cell, case.variant), ())),
            baseline=baselines.get(cell),
            siblings=siblings,
            cells=cells,
        )
        cells.setdefault(cell, []).append(siblings[case.id])
        if case.variant == names[case.cell.suite]:
            baselines[cell] = siblings[case.id]
    for case in recording.run.cases:
        yield siblings[case.id]
