"""The view of a judged run: what a report shows, in reading order, numbers still numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from stepmark.records.case import Cell
from stepmark.records.estimate import Bound, Estimate
from stepmark.records.finding import Finding
from stepmark.records.limit import Limit
from stepmark.records.memory import MemoryUse
from stepmark.records.outcome import Failure, Outcome
from stepmark.records.outline import SuiteOutline
from stepmark.records.record import Record
from stepmark.records.run import CaseJudgement, Judgement
from stepmark.records.spread import Level
from stepmark.records.verdict import Power, Reason, VerdictKind
from stepmark.report.footer import Footer, build_footer
from stepmark.report.groups import FailureGroup, FindingGroup, group_failures, group_findings
from stepmark.report.marks import letters_of, marks_of

MAX_CELL_TABLES = 6
"""A suite with more cells than this is shown as a sweep: one line a variant instead of a table a cell."""


class PhaseView(Record, frozen=True, kw_only=True):
    """One phase, total or remainder of one case."""

    name: str
    time: Estimate
    """The median of one iteration, in seconds."""
    kind: VerdictKind | None
    """None for the baseline, and for a phase the baseline does not have."""
    ratio: Estimate | None
    host: float | None = None
    """Seconds of the host for an iteration; None where the host does the work itself."""
    bound: Bound | None = None
    """Who decided how long it took, on a device."""


class RowView(Record, frozen=True, kw_only=True):
    """One variant in a cell."""

    variant: str
    baseline: bool
    outcome: Outcome | None
    """None while the case has not been reached."""
    failure: Failure | None
    primary: PhaseView | None
    phases: tuple[PhaseView, ...]
    """All but the primary, in display order."""
    kind: VerdictKind | None
    """The verdict on the primary phase; None for the baseline."""
    reasons: tuple[Reason, ...]
    marks: str
    """Of the findings about the case, notes left out: `✗a!b`."""
    parameters: int | None
    limit: Limit | None = None
    memory: MemoryUse | None = None
    launches: int = 0
    confirming: int = 0
    """Launches more, that measured a flagged cell again."""
    rounds: int = 0
    """In a launch, typically."""
    power: Power | None = None
    """What the verdict on the primary phase could have seen."""
    dominant: Level | None = None
    """Where most of the ratio's spread comes from."""


class CellView(Record, frozen=True, kw_only=True):
    """The variants of one cell side by side."""

    cell: Cell
    threads: int
    primary: str | None
    """The phase the verdicts are about, where the variants agree on one."""
    phases: tuple[str, ...]
    """Every other phase of any variant, in display order."""
    rows: tuple[RowView, ...]
    """In the suite's order."""

    @property
    def point(self) -> tuple[tuple[str, str], ...]:
        """Everything that sets this cell apart from others of its suite."""
        return self.cell.coordinates


class SuiteView(Record, frozen=True, kw_only=True):
    """All cells of one suite."""

    name: str
    cells: tuple[CellView, ...]

    @property
    def is_sweep(self) -> bool:
        """Too many cells for a table each."""
        return len(self.cells) > MAX_CELL_TABLES

    @property
    def primary(self) -> str | None:
        """The phase the verdicts are about, where all cells agree on one."""
        primaries = {cell.primary for cell in self.cells if cell.primary}
        return primaries.pop() if len(primaries) == 1 else None

    @property
    def varying(self) -> tuple[str, ...]:
        """Axes, and device, dtype, mode or regime, that are not the same in all cells."""
        points = [dict(cell.point) for cell in self.cells]
        names = dict.fromkeys(name for point in points for name in point)
        return tuple(name for name in names if len({point.get(name) for point in points}) > 1)


class Undecided(Record, frozen=True, kw_only=True):
    """An INCONCLUSIVE verdict, and what it would take."""

    case: str
    """Case id."""
    needed: int | None
    """Launches; None where no number would do."""
    seconds: float | None


class View(Record, frozen=True, kw_only=True):
    """A whole run."""

    suites: tuple[SuiteView, ...]
    verdicts: tuple[tuple[VerdictKind, int], ...]
    """How often each verdict was given, in the order of the closed list."""
    outcomes: tuple[tuple[Outcome | None, int], ...]
    """How the cases ended; None stands for cases not reached."""
    reasons: tuple[Reason, ...]
    """Every reason that occurs, in the order of the closed list: reports number them."""
    undecided: tuple[Undecided, ...]
    """The INCONCLUSIVE verdicts that had more than one launch, the nearest to a decision first."""
    detectable: tuple[float, float] | None
    """The smallest slowdown that a verdict of this run could have seen: the least and the most over all."""
    failures: tuple[FailureGroup, ...]
    findings: tuple[FindingGroup, ...]
    footer: Footer


def build_view(judgement: Judgement) -> View:
    """Arrange a judged run for reading."""
    cases = judgement.cases
    kinds = Counter(case.verdict.kind for case in cases if case.verdict)
    ends = Counter(case.outcome for case in cases)
    reasons = {reason for case in cases for verdict in case.verdicts[:1] for reason in verdict.reasons}
    return View(
        suites=_suites(judgement),
        verdicts=tuple((kind, kinds[kind]) for kind in VerdictKind if kinds[kind]),
        outcomes=tuple((end, ends[end]) for end in (*Outcome, None) if ends[end]),
        reasons=tuple(reason for reason in Reason if reason in reasons),
        undecided=_undecided(cases),
        detectable=_detectable(cases),
        failures=group_failures(cases),
        findings=group_findings(judgement.findings, letters_of(judgement.findings)),
        footer=build_footer(judgement),
    )


def _undecided(cases: Iterable[CaseJudgement]) -> tuple[Undecided, ...]:
    """Where fresh launches say the opposite of the first ones no number of launches is known."""
    open_ends = [
        Undecided(case=verdict.case, needed=verdict.power.needed, seconds=verdict.power.seconds)
        for case in cases
        if (verdict := case.verdict) and verdict.kind is VerdictKind.INCONCLUSIVE and verdict.power
        if verdict.power.needed is not None or Reason.NOT_CONFIRMED not in verdict.reasons
    ]
    return tuple(sorted(open_ends, key=lambda each: each.needed or math.inf))


def _detectable(cases: Iterable[CaseJudgement]) -> tuple[float, float] | None:
    verdicts = [
        case.verdict for case in cases if case.verdict and case.verdict.kind is not VerdictKind.INVALID
    ]
    seen = [verdict.power.detectable for verdict in verdicts if verdict.power]
    return (min(seen), max(seen)) if seen else None


def _suites(judgement: Judgement) -> tuple[SuiteView, ...]:
    run = judgement.run
    marks = _marks(judgement.findings)
    threads = run.settings.threads or run.environment.torch.threads
    suites: dict[str, dict[str, list[CaseJudgement]]] = {outline.name: {} for outline in run.suites}
    for case in judgement.cases:
        suites[case.case.cell.suite].setdefault(case.case.cell.id, []).append(case)
    return tuple(
        SuiteView(
            name=outline.name,
            cells=tuple(
                _cell(cases, outline=outline, threads=threads, marks=marks)
                for cases in suites[outline.name].values()
            ),
        )
        for outline in run.suites
        if suites[outline.name]
    )


def _marks(findings: Sequence[Finding]) -> Mapping[str, str]:
    """By case id."""
    letters = letters_of(findings)
    by_case: dict[str, list[Finding]] = {}
    for finding in findings:
        by_case.setdefault(finding.case, []).append(finding)
    return {case: marks_of(about, letters) for case, about in by_case.items()}


def _cell(
    cases: Sequence[CaseJudgement], *, outline: SuiteOutline, threads: int, marks: Mapping[str, str]
) -> CellView:
    order = {variant.name: place for place, variant in enumerate(outline.variants)}
    cases = sorted(cases, key=lambda case: order[case.case.variant])
    rows = tuple(_row(case, marks=marks.get(case.case.id, "")) for case in cases)
    primaries = {row.primary.name for row in rows if row.primary}
    return CellView(
        cell=cases[0].case.cell,
        threads=threads,
        primary=primaries.pop() if len(primaries) == 1 else None,
        phases=merge_orders([phase.name for phase in row.phases] for row in rows),
        rows=rows,
    )


def _row(case: CaseJudgement, *, marks: str) -> RowView:
    verdicts = {verdict.phase: verdict for verdict in case.verdicts}
    summaries = {summary.phase: summary for summary in case.summaries}
    views = {
        name: PhaseView(
            name=name,
            time=summaries[name].median,
            kind=verdicts[name].kind if name in verdicts else None,
            ratio=verdicts[name].ratio if name in verdicts else None,
            host=summaries[name].host_seconds,
            bound=summaries[name].bound,
        )
        for name in case.phases
        if name in summaries
    }
    verdict = case.verdict
    return RowView(
        variant=case.case.variant,
        baseline=case.baseline,
        outcome=case.outcome,
        failure=case.failure,
        primary=views.get(case.primary) if case.primary else None,
        phases=tuple(view for name, view in views.items() if name != case.primary),
        kind=verdict.kind if verdict else None,
        reasons=verdict.reasons if verdict else (),
        marks=marks,
        parameters=case.parameters,
        limit=case.limit,
        memory=case.memory,
        launches=case.num_launches,
        confirming=case.num_confirming,
        rounds=case.num_rounds,
        power=verdict.power if verdict and verdict.kind is not VerdictKind.INVALID else None,
        dominant=case.spread.dominant if case.spread else None,
    )


def merge_orders(orders: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """One order that keeps newcomers behind the name they follow: `a b d` and `a c d` give `a c b d`."""
    merged: list[str] = []
    for names in orders:
        place = 0
        for name in names:
            if name in merged:
                place = merged.index(name) + 1
            else:
                merged.insert(place, name)
                place += 1
    return tuple(merged)
