"""Conclusions from verdicts: what they say of a variant over all its cells, phases and memory.

Nothing is tested here: a conclusion counts verdicts that stand, names the smallest and the largest ratio
among those of one kind, and finds the ranges of a numeric axis in which every cell got the same one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from stepmark.records.case import AxisValue
from stepmark.records.conclusion import AxisRange, Conclusion, KindCount, MemoryRatio, PhaseConclusion
from stepmark.records.outcome import Outcome
from stepmark.records.run import CaseJudgement, Judgement
from stepmark.records.verdict import Reason, Verdict, VerdictKind

MAX_RANGES = 3
"""An axis along which the verdict changes more often says nothing in a sentence."""
GIVEN = frozenset(VerdictKind) - {VerdictKind.INVALID}


ByValue = dict[AxisValue, list[Verdict | None]]
"""The verdicts of the cells at each value of an axis."""
Run = tuple[VerdictKind | None, list[AxisValue]]
"""Neighbouring values with the same verdict everywhere; None where cells of a value differ."""


def conclude(judgement: Judgement) -> tuple[Conclusion, ...]:
    """One for each variant that is not a baseline, in each place it ran, in the run's order."""
    baselines = {case.case.cell.id: case for case in judgement.cases if case.baseline}
    groups: dict[tuple[str, str, str], list[CaseJudgement]] = {}
    for case in judgement.cases:
        if not case.baseline:
            cell = case.case.cell
            groups.setdefault((cell.suite, cell.place, case.case.variant), []).append(case)
    return tuple(
        _conclusion(judgement, cases, baselines, suite=suite, place=place, variant=variant)
        for (suite, place, variant), cases in groups.items()
    )


def _conclusion(
    judgement: Judgement,
    cases: Sequence[CaseJudgement],
    baselines: Mapping[str, CaseJudgement],
    *,
    suite: str,
    place: str,
    variant: str,
) -> Conclusion:
    ends = Counter(case.outcome for case in cases)
    margins = (case.verdict.policy.margin for case in cases if case.verdict)
    return Conclusion(
        suite=suite,
        variant=variant,
        baseline=judgement.run.baseline(suite),
        place=place,
        margin=next(margins, judgement.run.policy.margin),
        phases=tuple(_phases(cases)),
        ranges=_ranges(cases),
        memory=_memory(cases, baselines),
        failed=tuple((end, ends[end]) for end in Outcome if ends[end] and end is not Outcome.MEASURED),
        unreached=sum(case.outcome is None for case in cases),
    )


def _phases(cases: Sequence[CaseJudgement]) -> Iterator[PhaseConclusion]:
    """The primary one of most cases first, then the others as they come."""
    compared = [verdict for case in cases for verdict in case.verdicts if _was_compared(verdict)]
    primaries = Counter(case.verdict.phase for case in cases if case.verdict and _was_compared(case.verdict))
    first = [phase for phase, _ in primaries.most_common(1)]
    for phase in dict.fromkeys([*first, *(verdict.phase for verdict in compared)]):
        yield PhaseConclusion(
            phase=phase,
            kinds=tuple(_kinds([verdict for verdict in compared if verdict.phase == phase])),
        )


def _was_compared(verdict: Verdict) -> bool:
    """Cells that failed or were not reached are counted as that, not as INVALID verdicts."""
    return verdict.kind is not VerdictKind.INVALID or verdict.ratio is not None


def _kinds(verdicts: Sequence[Verdict]) -> Iterator[KindCount]:
    for kind in VerdictKind:
        alike = [verdict for verdict in verdicts if verdict.kind is kind]
        if alike:
            yield _counted(kind, alike)


def _counted(kind: VerdictKind, alike: Sequence[Verdict]) -> KindCount:
    ratios = sorted((verdict.ratio for verdict in alike if verdict.ratio), key=lambda ratio: ratio.point)
    return KindCount(
        kind=kind,
        cells=len(alike),
        least=ratios[0] if ratios else None,
        most=ratios[-1] if ratios else None,
        reasons=tuple(each for each in Reason if any(each in verdict.reasons for verdict in alike)),
    )


def _ranges(cases: Sequence[CaseJudgement]) -> tuple[AxisRange, ...]:
    """Of the first numeric axis whose every value has one verdict; else where differences end to matter."""
    kinds = {case.verdict.kind for case in cases if case.verdict}
    if len(kinds) < 2:
        return ()
    partial: tuple[AxisRange, ...] = ()
    for axis in _numeric_axes(cases):
        by_value = _by_value(cases, axis)
        runs = [
            (kind, list(run))
            for kind, run in groupby(by_value, key=lambda value: _only_kind(by_value[value]))
        ]
        if None not in [kind for kind, _ in runs] and len(runs) <= MAX_RANGES:
            return tuple(_to_ranges(axis, by_value, runs, kinds=GIVEN))
        partial = partial or _where_it_ends_to_matter(axis, by_value, runs)
    return partial


def _where_it_ends_to_matter(axis: str, by_value: ByValue, runs: Sequence[Run]) -> tuple[AxisRange, ...]:
    """The one range without a difference that counts, if it lies at an end of the axis."""
    found = tuple(_to_ranges(axis, by_value, runs, kinds=frozenset({VerdictKind.EQUIVALENT})))
    return found if len(found) == 1 and (found[0].begin is None or found[0].end is None) else ()


def _numeric_axes(cases: Iterable[CaseJudgement]) -> Iterator[str]:
    """Axes with at least two values, all of them numbers."""
    values: dict[str, set[AxisValue]] = {}
    for case in cases:
        for name, value in case.case.cell.axes:
            values.setdefault(name, set()).add(value)
    for name, known in values.items():
        if len(known) > 1 and all(
            isinstance(each, int | float) and not isinstance(each, bool) for each in known
        ):
            yield name


def _by_value(cases: Iterable[CaseJudgement], axis: str) -> ByValue:
    """The verdicts of the cells at each value of an axis, in ascending order."""
    seen: ByValue = {}
    for case in cases:
        seen.setdefault(dict(case.case.cell.axes)[axis], []).append(case.verdict)
    return dict(sorted(seen.items(), key=lambda item: float(item[0])))


def _only_kind(verdicts: Iterable[Verdict | None]) -> VerdictKind | None:
    """None where the cells of a value differ, or one has no verdict."""
    kinds = {verdict.kind if verdict else None for verdict in verdicts}
    return kinds.pop() if len(kinds) == 1 else None


def _to_ranges(
    axis: str,
    by_value: ByValue,
    runs: Sequence[Run],
    *,
    kinds: frozenset[VerdictKind],
) -> Iterator[AxisRange]:
    last = len(runs) - 1
    for place, (kind, values) in enumerate(runs):
        if kind is not None and kind in kinds:
            alike = [verdict for value in values for verdict in by_value[value] if verdict]
            yield AxisRange(
                axis=axis,
                found=_counted(kind, alike),
                begin=values[0] if place else None,
                end=values[-1] if place < last else None,
            )


def _memory(cases: Iterable[CaseJudgement], baselines: Mapping[str, CaseJudgement]) -> MemoryRatio | None:
    ratios = []
    for case in cases:
        baseline = baselines.get(case.case.cell.id)
        ours, theirs = case.memory, baseline.memory if baseline else None
        if ours and theirs and ours.peak > 0 and theirs.peak > 0:
            ratios.append(ours.peak / theirs.peak)
    return MemoryRatio(least=min(ratios), most=max(ratios)) if ratios else None
