"""Documents: what the API answers, where no record of the stages says it already."""

from __future__ import annotations

from collections.abc import Iterable

from stepmark.records.comparison import Comparison
from stepmark.records.finding import Finding
from stepmark.records.record import Record
from stepmark.records.run import CaseJudgement, Recording, Run
from stepmark.records.sample import unpack
from stepmark.records.trial import Role
from stepmark.web.archive import JudgedRun


class NamedCount(Record, frozen=True, kw_only=True):
    """A name, and in how many runs it occurs."""

    name: str
    num_runs: int


class CaseDocument(Record, frozen=True, kw_only=True):
    """What is known about one case."""

    id: str
    judgement: CaseJudgement


class RunDocument(Record, frozen=True, kw_only=True):
    """A run, judged, without its samples."""

    run: Run
    cases: tuple[CaseDocument, ...]
    findings: tuple[Finding, ...]


class SeriesDocument(Record, frozen=True, kw_only=True):
    """One phase of a case in one launch, in the order of its rounds."""

    launch: int | None
    """Number of the launch; None for the plain steps of the solo pass."""
    role: Role | None
    phase: str
    iterations: int
    """Per block: divide by it for the time of one iteration."""
    rounds: tuple[int, ...]
    nanoseconds: tuple[int, ...]


class SamplesDocument(Record, frozen=True, kw_only=True):
    """Every sample of a case."""

    run: str
    case: str
    series: tuple[SeriesDocument, ...]


class ComparisonDocument(Record, frozen=True, kw_only=True):
    """Two runs, compared."""

    comparison: Comparison
    case_ids: tuple[str, ...]
    """Of the cases, in their order."""
    refused: bool
    """Whether the runs as wholes must not be compared."""


def named_counts(pairs: Iterable[tuple[str, int]]) -> tuple[NamedCount, ...]:
    return tuple(NamedCount(name=name, num_runs=number) for name, number in pairs)


def run_document(found: JudgedRun) -> RunDocument:
    judgement = found.judgement
    return RunDocument(
        run=judgement.run,
        cases=tuple(CaseDocument(id=case.case.id, judgement=case) for case in judgement.cases),
        findings=judgement.findings,
    )


def comparison_document(comparison: Comparison) -> ComparisonDocument:
    return ComparisonDocument(
        comparison=comparison,
        case_ids=tuple(case.case.id for case in comparison.cases),
        refused=comparison.refused,
    )


def samples_document(recording: Recording, case_id: str) -> SamplesDocument:
    """Solo pass first, then launch by launch."""
    case = next(case for case in recording.run.cases if case.id == case_id)
    series = [
        SeriesDocument(
            launch=None,
            role=None,
            phase=sample.phase,
            iterations=sample.iterations,
            rounds=tuple(range(sample.num_blocks)),
            nanoseconds=tuple(unpack(sample.nanoseconds)),
        )
        for solo in recording.solos
        if solo.case == case
        for sample in solo.samples
    ]
    series += [
        SeriesDocument(
            launch=launch.number,
            role=launch.role,
            phase=sample.phase,
            iterations=sample.iterations,
            rounds=tuple(unpack(lane.rounds)),
            nanoseconds=tuple(unpack(sample.nanoseconds)),
        )
        for launch in recording.launches
        if launch.cell == case.cell
        for lane in launch.lanes
        if lane.variant == case.variant
        for sample in lane.samples
    ]
    return SamplesDocument(run=recording.run.id, case=case_id, series=tuple(series))
