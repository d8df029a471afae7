"""Pairs of cases: which case of one run is to be held against which of the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stepmark.analysis.run_facts import Facts
from stepmark.analysis.trials import CaseTrials
from stepmark.records.case import AxisValue, Cache, Case
from stepmark.records.comparison import Aspect
from stepmark.records.evidence import TensorFacts
from stepmark.records.run import Run

_Place = tuple[str, str, Cache, tuple[tuple[str, AxisValue], ...]]


class Pairs(NamedTuple):
    """Cases of the baseline and of the candidate."""

    matched: tuple[tuple[Case, Case], ...]
    """In the candidate's order."""
    only_baseline: tuple[Case, ...]
    only_candidate: tuple[Case, ...]


def pair_cases(baseline: Run, candidate: Run) -> Pairs:
    """By id; what is left is paired where one case of each run has the same variant at the same point.

    Such a pair differs in device, dtype, mode or execution, which is then said and refused, instead of two
    cases that nobody seems to have measured twice. Cases of different cache regimes are never a pair.
    """
    known = {case.id: case for case in baseline.cases}
    matched = {case.id: (known.pop(case.id), case) for case in candidate.cases if case.id in known}
    left = [case for case in candidate.cases if case.id not in matched]
    alone, others = _alone(known.values()), _alone(left)
    for place, case in others.items():
        if place in alone:
            matched[case.id] = (known.pop(alone[place].id), case)
    return Pairs(
        matched=tuple(matched[case.id] for case in candidate.cases if case.id in matched),
        only_baseline=tuple(known.values()),
        only_candidate=tuple(case for case in candidate.cases if case.id not in matched),
    )


def case_facts(trials: CaseTrials) -> Facts:
    """What is particular to one case: where and how it ran, what work it did, beside whom."""
    cell = trials.case.cell
    isolation = trials.cell.isolation
    company = {lane.variant for launch in trials.cell.launches for lane in launch.lanes}
    facts: Facts = {
        (Aspect.DEVICE, "device"): cell.device,
        (Aspect.DTYPE, "dtype"): cell.dtype,
        (Aspect.MODE, "mode"): cell.mode.value,
        (Aspect.EXECUTION, "execution"): cell.execution.value,
        (Aspect.ISOLATION, "isolation"): isolation.value,
        (Aspect.COMPANY, "variants"): " + ".join(sorted(company)) or "none",
    }
    return facts | _work_facts(trials)


def _work_facts(trials: CaseTrials) -> Facts:
    """What the solo pass and the lanes saw; a case that failed early shows nothing."""
    facts: Facts = {}
    if layout := trials.layout:
        facts[Aspect.WORK, "phases"] = ", ".join(layout.phases)
        facts[Aspect.WORK, "primary phase"] = layout.primary
        for total in layout.totals:
            facts[Aspect.WORK, f"total {total.name}"] = " + ".join(total.parts)
    evidence = trials.solo.evidence if trials.solo else None
    if evidence is not None:
        facts[Aspect.WORK, "parameters"] = str(evidence.parameters)
        facts[Aspect.WORK, "trainable parameters"] = str(evidence.trainable_parameters)
        dtype, output = trials.case.cell.dtype, evidence.output
        inputs = [_tensor(tensor, dtype) for tensor in evidence.inputs]
        facts[Aspect.WORK, "inputs"] = ", ".join(inputs) or "none"
        facts[Aspect.WORK, "output"] = _tensor(output, dtype) if output else "not one tensor"
    return facts


def _tensor(tensor: TensorFacts, dtype: str) -> str:
    """`64x512`, or `64x16:int64`; the case's own dtype is an aspect of its own."""
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    return shape if tensor.dtype == dtype else f"{shape}:{tensor.dtype}"


def _alone(cases: Iterable[Case]) -> dict[_Place, Case]:
    """Cases that are the only one with their variant, cache regime and axes."""
    found: dict[_Place, list[Case]] = {}
    for case in cases:
        place = (case.cell.suite, case.variant, case.cell.cache, case.cell.axes)
        found.setdefault(place, []).append(case)
    return {place: same[0] for place, same in found.items() if len(same) == 1}
