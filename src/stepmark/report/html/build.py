"""Building the view of a page: a judged run, its recording, and what was concluded and drawn from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stepmark.published.beside import Beside
from stepmark.records.case import Case
from stepmark.records.conclusion import Conclusion
from stepmark.records.run import Judgement, Recording
from stepmark.report.figures.figure import Figure, Kind
from stepmark.report.html.carrying import carry, room_for
from stepmark.report.html.evidence import gather_evidence, timed_cases
from stepmark.report.html.page_view import ComparedRow, ConclusionGroup, MemoryRow, PageView, Section
from stepmark.report.view import PhaseView, RowView, View, build_view
from stepmark.report.wording import NOT_REACHED, case_labels, failure_line

SECTIONS = {
    "comparison": ("Comparison", (Kind.FOREST,)),
    "sweep": ("Sweep", (Kind.SWEEP,)),
    "phases": ("Phases and memory", (Kind.PHASES, Kind.MEMORY)),
    "limit": ("Limit", (Kind.ROOFLINE,)),
}
"""Heading and figures of each part of the page, in reading order."""


def build_page(
    judgement: Judgement,
    recording: Recording,
    *,
    figures: Sequence[Figure] = (),
    samples: Sequence[Figure] = (),
    conclusions: Sequence[Conclusion] = (),
    published: Beside | None = None,
) -> PageView:
    """Arrange everything; `samples` are the figures of any one case."""
    view = build_view(judgement)
    run = judgement.run
    labels = case_labels(view)
    anchors = {case.id: f"case-{number}" for number, case in enumerate(run.cases, 1)}
    timed = timed_cases(recording, judgement)
    series, carried, every = carry(timed, budget=room_for(len(run.cases)))
    return PageView(
        run=run,
        environment=run.environment,
        loads=tuple(load for load in (run.load_start, run.load_end) if load is not None),
        view=view,
        labels=labels,
        anchors=anchors,
        conclusions=_grouped(judgement, conclusions),
        rows=tuple(_rows(view, anchors)),
        memory=tuple(_memory(view, anchors)),
        sections=_sections(figures),
        cases=gather_evidence(
            judgement, recording, timed=timed, series=series, labels=labels, anchors=anchors
        ),
        carried=carried.value,
        every=every,
        samples=tuple(samples),
        published=published if published is not None and published.rows else None,
    )


def _grouped(judgement: Judgement, conclusions: Sequence[Conclusion]) -> tuple[ConclusionGroup, ...]:
    about = {outline.name: outline.about for outline in judgement.run.suites}
    groups: dict[tuple[str, str], list[Conclusion]] = {}
    for each in conclusions:
        groups.setdefault((each.suite, each.place), []).append(each)
    return tuple(
        ConclusionGroup(suite=suite, about=about.get(suite, ""), place=place, conclusions=tuple(alike))
        for (suite, place), alike in groups.items()
    )


def _sections(figures: Sequence[Figure]) -> dict[str, Section]:
    sections = {}
    for anchor, (title, kinds) in SECTIONS.items():
        drawn = tuple(figure for kind in kinds for figure in figures if figure.kind is kind)
        if drawn:
            sections[anchor] = Section(anchor=anchor, title=title, figures=drawn)
    return sections


def _rows(view: View, anchors: Mapping[str, str]) -> Iterator[ComparedRow]:
    for suite in view.suites:
        for cell in suite.cells:
            for row in cell.rows:
                case = Case(variant=row.variant, cell=cell.cell)
                for phase in (row.primary, *row.phases):
                    if phase is not None or not row.phases:
                        yield _row(case, row, phase, anchor=anchors[case.id])


def _row(case: Case, row: RowView, phase: PhaseView | None, *, anchor: str) -> ComparedRow:
    primary = phase is row.primary
    return ComparedRow(
        anchor=anchor,
        case=case,
        phase=phase.name if phase else "",
        primary=primary,
        baseline=row.baseline,
        time=phase.time if phase else None,
        ratio=phase.ratio if phase else None,
        kind=row.kind if primary else phase.kind if phase else None,
        reasons=row.reasons if primary else (),
        ending="" if phase else failure_line(row.failure) if row.failure else NOT_REACHED,
        marks=row.marks if primary else "",
        memory=row.memory.peak if row.memory and primary else None,
        limit=row.limit if primary else None,
    )


def _memory(view: View, anchors: Mapping[str, str]) -> Iterator[MemoryRow]:
    for suite in view.suites:
        for cell in suite.cells:
            baseline = next((row.memory for row in cell.rows if row.baseline), None)
            for row in cell.rows:
                if row.memory is None:
                    continue
                case = Case(variant=row.variant, cell=cell.cell)
                known = baseline is not None and baseline.peak > 0 and not row.baseline
                yield MemoryRow(
                    anchor=anchors[case.id],
                    case=case,
                    baseline=row.baseline,
                    memory=row.memory,
                    ratio=row.memory.peak / baseline.peak if baseline and known else None,
                )
