"""Crossovers: where along a numeric axis one variant overtakes another, from the paired ratios.

Method.       Along one axis, everything else the same, each measured value has the ratio of two variants with
              its interval and verdict. Where FASTER and SLOWER follow each other, with no other of the two in
              between, the lead changes. Between neighbouring values the logarithm of the ratio is
              interpolated, linearly over the axis, or over its logarithm where the axis is geometric
              (stats/spacing.py); the crossover is where it is 0. Where the interpolated bounds of the
              interval are 0 it begins and ends to be possible.
Assumptions.  Between two neighbours the ratio changes evenly.
Fails.        With a verdict in between that is neither (the interval crosses the margin or lies inside
              it), no point is told: the crossover is somewhere between the two that are decided. A ratio
              that jumps (another kernel from some size on) is somewhere between its neighbours, and the
              interpolated point means nothing; the measured neighbours are always told with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from stepmark.analysis.against import Side, match
from stepmark.analysis.compare import compare
from stepmark.analysis.judge import read_side
from stepmark.analysis.seeds import generator_for
from stepmark.analysis.trials import gather
from stepmark.analysis.verdict import decide
from stepmark.records.case import numeric_axes
from stepmark.records.crossover import Crossover
from stepmark.records.estimate import Estimate
from stepmark.records.run import CaseJudgement, Judgement, Recording
from stepmark.records.verdict import VerdictKind
from stepmark.stats.spacing import is_geometric

DECIDED = (VerdictKind.FASTER, VerdictKind.SLOWER)
Point = tuple[tuple[str, str], ...]
Row = Mapping[float, Mapping[str, CaseJudgement]]
"""By value of the axis, by variant: cells that differ in nothing else."""


class Compared(NamedTuple):
    """Two variants at one value of the axis."""

    value: float
    kind: VerdictKind
    ratio: Estimate | None


def crossovers(judgement: Judgement, recording: Recording | None = None) -> tuple[Crossover, ...]:
    """Of every variant with the baseline, phase by phase; with the recording, of every two others too, in the
    phase that verdicts are about."""
    run = judgement.run
    sides = _sides(recording) if recording is not None else {}
    found: list[Crossover] = []
    for outline in run.suites:
        cases = [case for case in judgement.cases if case.case.cell.suite == outline.name]
        for axis in numeric_axes(case.case.cell for case in cases):
            for fixed, row in _rows(cases, axis).items():
                if len(row) < 2:
                    continue
                geometric = is_geometric(row)
                for phase, pair, series in _series(row, outline.baseline, judgement, sides):
                    found += [
                        _crossover(place, pair, suite=outline.name, axis=axis, fixed=fixed, phase=phase)
                        for place in changes_of_lead(series, geometric=geometric)
                    ]
    return tuple(found)


class Change(NamedTuple):
    """Where the lead changes along one series."""

    rising: bool
    """The first of the two gets slower than the second."""
    low: float
    high: float
    at: float | None = None
    at_low: float | None = None
    at_high: float | None = None


def changes_of_lead(series: Sequence[Compared], *, geometric: bool) -> Iterator[Change]:
    """Between decided verdicts that follow each other and differ."""
    decided = [place for place, each in enumerate(series) if each.kind in DECIDED]
    for one, other in pairwise(decided):
        left, right = series[one], series[other]
        if left.kind is right.kind:
            continue
        change = Change(right.kind is VerdictKind.SLOWER, left.value, right.value)
        if other == one + 1 and left.ratio and right.ratio:
            change = _interpolated(change, left.ratio, right.ratio, geometric=geometric)
        yield change


def _interpolated(change: Change, first: Estimate, last: Estimate, *, geometric: bool) -> Change:
    """Where ratio and bounds are 1; the bound that gets there first begins the range."""

    def where(one: float, other: float) -> float:
        share = math.log(one) / (math.log(one) - math.log(other))
        if geometric:
            return float(change.low * (change.high / change.low) ** share)
        return change.low + share * (change.high - change.low)

    ends = sorted((where(first.low, last.low), where(first.high, last.high)))
    at = min(max(where(first.point, last.point), ends[0]), ends[1])
    return change._replace(at=at, at_low=ends[0], at_high=ends[1])


def _crossover(
    change: Change, pair: tuple[str, str], *, suite: str, axis: str, fixed: Point, phase: str
) -> Crossover:
    before, after = pair if change.rising else pair[::-1]
    return Crossover(
        suite=suite,
        axis=axis,
        fixed=fixed,
        phase=phase,
        before=before,
        after=after,
        low=change.low,
        high=change.high,
        at=change.at,
        at_low=change.at_low,
        at_high=change.at_high,
    )


def _rows(cases: Iterable[CaseJudgement], axis: str) -> dict[Point, dict[float, dict[str, CaseJudgement]]]:
    """By everything but the axis; its values in ascending order."""
    rows: dict[Point, dict[float, dict[str, CaseJudgement]]] = {}
    for case in cases:
        cell = case.case.cell
        value = dict(cell.axes).get(axis)
        if isinstance(value, int | float):
            row = rows.setdefault(cell.apart_from(axis), {})
            row.setdefault(float(value), {})[case.case.variant] = case
    return {fixed: dict(sorted(row.items())) for fixed, row in rows.items()}


def _series(
    row: Row, baseline: str, judgement: Judgement, sides: Mapping[str, Side]
) -> Iterator[tuple[str, tuple[str, str], list[Compared]]]:
    """Phase, the two variants, and how they compare along the axis."""
    variants = list(dict.fromkeys(name for cases in row.values() for name in cases))
    for name in variants:
        phases = dict.fromkeys(
            v.phase for cases in row.values() if name in cases for v in cases[name].verdicts
        )
        for phase in phases:
            yield phase, (name, baseline), _with_baseline(row, name, phase)
    if sides:
        for one, other in combinations([name for name in variants if name != baseline], 2):
            primary = next((c[one].primary for c in row.values() if one in c and c[one].primary), None)
            if primary is not None:
                series = _with_each_other(row, (one, other), primary, judgement, sides)
                yield primary, (one, other), series


def _with_baseline(row: Row, name: str, phase: str) -> list[Compared]:
    return [
        Compared(value, verdict.kind, verdict.ratio)
        for value, cases in row.items()
        if name in cases
        for verdict in cases[name].verdicts
        if verdict.phase == phase
    ]


def _with_each_other(
    row: Row, pair: tuple[str, str], phase: str, judgement: Judgement, sides: Mapping[str, Side]
) -> list[Compared]:
    """Paired in the launches that they share, with the interval of the look that ended the cell."""
    series = []
    for value, cases in row.items():
        one, other = (cases.get(name) for name in pair)
        if one is None or other is None:
            continue
        ratio = _ratio(one, other, phase, judgement, sides)
        kind = decide(ratio, margin=judgement.run.policy.margin) if ratio else VerdictKind.INVALID
        series.append(Compared(value, kind, ratio))
    return series


def _ratio(
    one: CaseJudgement, other: CaseJudgement, phase: str, judgement: Judgement, sides: Mapping[str, Side]
) -> Estimate | None:
    """None where a verdict was taken away, or the two cannot be paired."""
    if any(each.verdict is None or each.verdict.kind is VerdictKind.INVALID for each in (one, other)):
        return None
    look = one.verdict.look if one.verdict else None
    paired = match(sides[one.case.id], sides[other.case.id], settings=judgement.run.settings).paired
    if look is None or paired is None or phase not in paired.phases:
        return None
    generator = generator_for(judgement.run.settings.seed, one.case.id, "crossover")
    ratios = compare(paired, policy=judgement.run.policy, look=look, generator=generator)
    return ratios.get(phase)


def _sides(recording: Recording) -> dict[str, Side]:
    """Of suites that have two contenders in a cell: the others need none."""
    cells: dict[str, int] = {}
    for case in recording.run.cases:
        cells[case.cell.id] = cells.get(case.cell.id, 0) + 1
    return {
        id: read_side(trials) for id, trials in gather(recording).items() if cells[trials.case.cell.id] > 2
    }
