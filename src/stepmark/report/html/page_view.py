"""The view of a page: everything the report of a run shows, in reading order, numbers still numbers."""

from __future__ import annotations

from stepmark.published.beside import Beside
from stepmark.records.case import Case
from stepmark.records.conclusion import Conclusion
from stepmark.records.environment import Environment, LoadFacts
from stepmark.records.estimate import Estimate
from stepmark.records.evidence import Evidence
from stepmark.records.finding import Finding
from stepmark.records.inspection import Product
from stepmark.records.limit import Limit
from stepmark.records.memory import MemoryUse
from stepmark.records.record import Record
from stepmark.records.run import CaseJudgement, Run
from stepmark.records.trial import Role
from stepmark.records.verdict import Reason, VerdictKind
from stepmark.report.figures.figure import Figure
from stepmark.report.html.series import CaseSeries
from stepmark.report.view import View


class ComparedRow(Record, frozen=True, kw_only=True):
    """One phase of one case in the table that can be sorted and filtered."""

    anchor: str
    """Of the case's evidence: `case-3`."""
    case: Case
    phase: str
    """Empty where nothing was measured."""
    primary: bool
    """It is the phase that the case's verdict is about, or the only row of a case without numbers."""
    baseline: bool
    time: Estimate | None
    ratio: Estimate | None
    kind: VerdictKind | None
    reasons: tuple[Reason, ...]
    ending: str
    """Why there is no time."""
    marks: str
    memory: int | None
    """Peak, in bytes, of the whole step; in the row of the primary phase alone."""
    limit: Limit | None


class MemoryRow(Record, frozen=True, kw_only=True):
    """What one case keeps in memory."""

    anchor: str
    case: Case
    baseline: bool
    memory: MemoryUse
    ratio: float | None
    """Of the peak to the baseline's; None of the baseline itself."""


class PhaseWork(Record, frozen=True, kw_only=True):
    """One phase, or one operation, of a case: its time beside its work."""

    phase: str
    time: Estimate | None
    time_share: float | None
    """Of the primary time."""
    operations: int | None
    """Of torch; None where the phase was not inspected."""
    flops: float | None
    work_share: float | None
    """Of the work of all phases."""
    traffic: float | None
    """Bytes."""
    traffic_share: float | None
    products: tuple[Product, ...] = ()


class OperatorLine(Record, frozen=True, kw_only=True):
    """One operator in a phase; shares are of the phase, None where that has none or it is not known."""

    name: str
    others: bool
    """It is all those that are not shown one by one."""
    calls: int
    time_share: float | None
    """Of the time inside operators."""
    work_share: float | None
    traffic_share: float | None
    counted: bool = True
    """False where it may do work that nobody has a formula for."""


class PhaseOperators(Record, frozen=True, kw_only=True):
    """The operators of one phase in the instrumented step."""

    phase: str
    calls: int
    seconds: float | None
    """Inside all of them, on the host; None on an accelerator."""
    lines: tuple[OperatorLine, ...]
    """The longest first, the others last."""


class LaunchLine(Record, frozen=True, kw_only=True):
    """One launch as the case saw it."""

    number: int
    role: Role
    rounds: int
    median: float
    """Of the primary phase, in seconds per iteration."""
    outliers: int
    built: int | None
    """The place at which it was built, from 1."""
    warmed: int | None
    lanes: int
    seconds: float
    """Of the whole launch."""
    settled: bool
    load: float | None
    cut_short: bool


class TurnLine(Record, frozen=True, kw_only=True):
    """The rounds in which the case was the first, the second, ... to run."""

    turn: int
    rounds: int
    relative: float
    """Median of its times over the median of its launch."""


class CaseEvidence(Record, frozen=True, kw_only=True):
    """Everything known about one case."""

    anchor: str
    label: str
    """What sets it apart from the other cases of the run."""
    judged: CaseJudgement
    findings: tuple[Finding, ...]
    solo: Evidence | None
    work: tuple[PhaseWork, ...]
    operators: tuple[PhaseOperators, ...]
    """Empty where nothing was inspected, and in runs of older records."""
    launches: tuple[LaunchLine, ...]
    turns: tuple[TurnLine, ...]
    """Empty where the order of the rounds is not known."""
    series: CaseSeries | None
    """None where nothing was measured."""


class ConclusionGroup(Record, frozen=True, kw_only=True):
    """The conclusions about one suite in one place."""

    suite: str
    about: str
    place: str
    conclusions: tuple[Conclusion, ...]


class Section(Record, frozen=True, kw_only=True):
    """Figures that stand under one heading."""

    anchor: str
    title: str
    figures: tuple[Figure, ...]


class PageView(Record, frozen=True, kw_only=True):
    """The whole report."""

    run: Run
    environment: Environment
    loads: tuple[LoadFacts, ...]
    view: View
    labels: dict[str, str]
    """By case id, what sets a case apart."""
    anchors: dict[str, str]
    """By case id, where its evidence is."""
    conclusions: tuple[ConclusionGroup, ...]
    rows: tuple[ComparedRow, ...]
    memory: tuple[MemoryRow, ...]
    sections: dict[str, Section]
    """By anchor: comparison, sweep, phases, limit; those without figures are left out."""
    cases: tuple[CaseEvidence, ...]
    carried: str
    """Which raw values the page carries, as a key of `series.Carried`."""
    every: int
    """Of the rounds, each how many-th is carried."""
    samples: tuple[Figure, ...]
    """The figures of one case, of whichever case: their data are replaced by those of the case looked at."""
    published: Beside | None
