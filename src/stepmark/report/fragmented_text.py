"""A run of the suite fragmented, as the published benchmark script prints its results.

What stands for what is in docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import nan

from stepmark.errors import UsageError
from stepmark.interchange.fragmented_text import (
    MEBIBYTE,
    Figures,
    Fragmented,
    FragmentedText,
    Section,
)
from stepmark.interchange.fragmented_text import (
    render as render_document,
)
from stepmark.interchange.lines import Loose, Text
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.evidence import Evidence
from stepmark.records.run import CaseJudgement, Judgement, Recording

SUITE = "fragmented"
LINEAR, SOFT, HARD = "linear", "fragmented", "fragmented_hard"

Measured = Mapping[Case, CaseJudgement]
Seen = Mapping[Case, Evidence]


def render(judgement: Judgement, recording: Recording) -> str:
    """Its training cases; what was not measured is `nan`."""
    cases = {
        case.case: case
        for case in judgement.cases
        if case.case.cell.suite == SUITE and case.case.cell.mode is Mode.TRAIN and not case.case.cell.regime
    }
    if not cases:
        raise UsageError(
            "the format fragmented-text shows training cases of the suite fragmented, and this run has none",
            remedy="stepmark run fragmented --mode train --format fragmented-text",
        )
    seen = {solo.case: solo.evidence for solo in recording.solos if solo.evidence is not None}
    return render_document(_document(cases, seen, run_id=judgement.run.id))


def _document(cases: Measured, seen: Seen, *, run_id: str) -> FragmentedText:
    """Cells that differ in device or dtype come one after the other, each under a line that names them."""
    cells = sorted(dict.fromkeys(case.cell for case in cases), key=_order)
    parts: list[Loose | Section] = []
    for (device, dtype), group in groupby(cells, key=lambda cell: (cell.device, cell.dtype)):
        heading = f"#Tests stepmark.zoo.FragmentedLinear, run {run_id}, {device}, {dtype}"
        for number, (_, section) in enumerate(groupby(group, key=lambda cell: _size(cell)[:2])):
            first = ("", heading) if parts else (heading,)
            parts.append(Text(lines=("",) if number else (*first, "")))
            parts.append(_section(list(section), cases, seen))
    return FragmentedText(parts=(*parts, Text(lines=("",))))


def _order(cell: Cell) -> tuple[str, str, int, int, int]:
    return (cell.device, cell.dtype, *_size(cell))


def _size(cell: Cell) -> tuple[int, int, int]:
    axes = dict(cell.axes)
    return int(axes["n"]), int(axes["batch"]), int(axes["fragments"])


def _section(cells: Sequence[Cell], cases: Measured, seen: Seen) -> Section:
    """nn.Linear has no fragments: it was measured in every cell, and the mean of these is shown."""
    n, batch, _ = _size(cells[0])
    return Section(
        input_size=n,
        output_size=n,
        batch_size=batch,
        linear=_figures(LINEAR, cells, cases, seen),
        train=_members(SOFT, cells, cases, seen),
        inference=_members(HARD, cells, cases, seen),
    )


def _members(variant: str, cells: Sequence[Cell], cases: Measured, seen: Seen) -> tuple[Fragmented, ...]:
    return tuple(
        Fragmented(fragments=_size(cell)[2], figures=_figures(variant, [cell], cases, seen)) for cell in cells
    )


def _figures(variant: str, cells: Iterable[Cell], cases: Measured, seen: Seen) -> Figures:
    keys = [Case(variant=variant, cell=cell) for cell in cells]
    judged = [cases[key] for key in keys if key in cases]
    evidence = [seen[key] for key in keys if key in seen]
    peak = max((_peak(facts) for facts in evidence), default=0)
    return Figures(
        forward=f"{1e3 * _mean(judged, ('forward',)):.2f}",
        backward=f"{1e3 * _mean(judged, ('backward', 'optimizer')):.2f}",
        peak=f"{peak / MEBIBYTE if peak else nan:.1f}",
        parameters=max((facts.trainable_parameters for facts in evidence), default=0),
    )


def _peak(facts: Evidence) -> int:
    """Bytes: the step's own tensors and what its phases take above them, as the published script's allocator
    counted; without an instrumented step the peak of the whole process."""
    inspection = facts.inspection
    if inspection is None or not inspection.phases or inspection.problem:
        return facts.peak_rss_bytes
    return inspection.memory.own + max(phase.peak_bytes for phase in inspection.phases)


def _mean(judged: Sequence[CaseJudgement], phases: tuple[str, ...]) -> float:
    """Seconds of the phases together; NaN where one of them was not measured."""
    times = []
    for case in judged:
        summaries = [case.summary(phase) for phase in phases]
        times += [sum(s.mean.point if s is not None else nan for s in summaries)] if case.summaries else []
    return sum(times) / len(times) if times else nan
