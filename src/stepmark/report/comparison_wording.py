"""Phrases of a comparison that more than one format uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import tzinfo
from typing import NamedTuple

from stepmark.records.case import Cell
from stepmark.records.comparison import (
    CaseComparison,
    ComparedRun,
    Comparison,
    Difference,
    PhaseComparison,
    Standing,
)
from stepmark.records.verdict import Reason, VerdictKind
from stepmark.report import format as show

UNPAIRED = "unpaired: not interleaved, so the machine's mood does not cancel"
BASELINE, CANDIDATE = "A", "B"
SHOWN_CASES = 3
"""Case ids named after a difference; the others are counted."""
NOT_KNOWN = (
    "three other runs of one clean commit make it known; better still, measure both side by side in one run, "
    "where it cancels"
)
ALLOW = "compare them all the same with --allow {names}"


class Side(NamedTuple):
    """One of the two runs, in words."""

    letter: str
    id: str
    about: str
    """When it started, its name and its commit: `2027-01-15 08:00 · baseline main · commit 1f0c2a0000`."""


def sides(comparison: Comparison, *, zone: tzinfo | None) -> tuple[Side, Side]:
    """The runs with their letters."""
    return (
        Side(BASELINE, comparison.baseline.id, _about(comparison.baseline, zone)),
        Side(CANDIDATE, comparison.candidate.id, _about(comparison.candidate, zone)),
    )


def _about(run: ComparedRun, zone: tzinfo | None) -> str:
    commit = f"commit {run.commit[:10]}{' (dirty)' if run.dirty else ''}" if run.commit else ""
    name = f"baseline {run.name}" if run.name else ""
    return " · ".join(filter(None, (show.moment(run.started, zone=zone), name, commit)))


def cell_title(cell: Cell) -> str:
    """`features=512 · cpu · float32 · train`."""
    where = (cell.device, cell.dtype, cell.mode.value, *cell.regime)
    return " · ".join(filter(None, (cell.point.replace(",", "  "), *where)))


def by_suite(comparison: Comparison) -> dict[str, dict[Cell, list[CaseComparison]]]:
    """Cases by suite and cell, in the candidate's order."""
    suites: dict[str, dict[Cell, list[CaseComparison]]] = {}
    for case in comparison.cases:
        cell = case.case.cell
        suites.setdefault(cell.suite, {}).setdefault(cell, []).append(case)
    return suites


def shown_phases(case: CaseComparison, *, phases: bool) -> tuple[PhaseComparison, ...]:
    """The primary alone, or all."""
    return case.phases if phases else case.phases[:1]


def tally(comparison: Comparison) -> list[tuple[VerdictKind, int]]:
    """How often each verdict was given on a primary phase."""
    kinds = Counter(case.primary.kind for case in comparison.cases)
    return [(kind, kinds[kind]) for kind in VerdictKind if kinds[kind]]


def numbered(comparison: Comparison, *, phases: bool) -> tuple[Reason, ...]:
    """The reasons that get a number; that it is unpaired is said once for all."""
    seen = {
        reason
        for case in comparison.cases
        for phase in shown_phases(case, phases=phases)
        for reason in phase.reasons
    }
    return tuple(reason for reason in Reason if reason in seen and reason is not Reason.UNPAIRED)


def beside(phase: PhaseComparison) -> tuple[Reason, ...]:
    """The reasons marked beside a verdict."""
    return tuple(reason for reason in phase.reasons if reason is not Reason.UNPAIRED)


def difference_lines(comparison: Comparison, standing: Standing) -> list[str]:
    """What differs: of the runs first, then of cases, each said once with the cases it is about."""
    whole = [_difference(each) for each in comparison.differences if each.standing is standing]
    places: dict[str, list[str]] = {}
    for case in comparison.cases:
        for difference in case.differences:
            if difference.standing is standing:
                places.setdefault(_difference(difference), []).append(case.case.id)
    return [*whole, *(f"{text} · {some_cases(ids)}" for text, ids in places.items())]


def to_allow(comparison: Comparison) -> str | None:
    """The option that would let the refused differences pass."""
    every = [*comparison.differences, *(each for case in comparison.cases for each in case.differences)]
    aspects = dict.fromkeys(each.aspect for each in every if each.standing is Standing.REFUSED)
    return ALLOW.format(names=",".join(aspects)) if aspects else None


def some_cases(ids: Sequence[str]) -> str:
    """`2 cases: ...`, the first few by name."""
    more = f" and {len(ids) - SHOWN_CASES} more" if len(ids) > SHOWN_CASES else ""
    return f"{show.plural(len(ids), 'case')}: {', '.join(ids[:SHOWN_CASES])}{more}"


def only_lines(comparison: Comparison) -> list[str]:
    """Cases that one of the runs does not have."""
    alone = {BASELINE: comparison.only_baseline, CANDIDATE: comparison.only_candidate}
    return [f"only in {letter}: {some_cases(ids)}" for letter, ids in alone.items() if ids]


def spread_lines(comparison: Comparison) -> list[str]:
    """What is known of the spread from run to run, and what was assumed where nothing is."""
    spreads = [case.primary.spread for case in comparison.cases if case.primary.spread]
    known = [spread for spread in spreads if spread.known]
    assumed = [spread for spread in spreads if not spread.known]
    lines = []
    if known:
        low, high = (f"{100 * pick(each.deviation for each in known):.1f}" for pick in (min, max))
        runs = show.span(*_ends([each.num_runs for each in known]), "run")
        size = f"{high}{show.NBSP}%" if low == high else f"{low} to {high}{show.NBSP}%"
        beyond = "below 0.1" + show.NBSP + "%" if high == "0.0" else size
        lines.append(f"run-to-run spread beyond launches: {beyond}, from {runs} of unchanged code")
    if assumed:
        where = "" if not known else f" of {show.plural(len(assumed), 'case')}"
        size = show.percent(assumed[0].deviation)
        lines.append(f"run-to-run spread{where} not known: {size} assumed, on the safe side")
    return lines


def spread_remedy(comparison: Comparison) -> str | None:
    """What would make the spread known."""
    spreads = [case.primary.spread for case in comparison.cases]
    return NOT_KNOWN if any(spread and not spread.known for spread in spreads) else None


def footer_facts(comparison: Comparison) -> tuple[str, ...]:
    """How the comparison was made."""
    policy = comparison.terms.policy
    primaries = [case.primary for case in comparison.cases if case.primary.ratio]
    launches = []
    if primaries:
        old = show.span(*_ends([each.baseline_launches for each in primaries]), "launch")
        new = show.span(*_ends([each.candidate_launches for each in primaries]), "launch")
        launches = [f"{old} in {BASELINE}, {new} in {CANDIDATE}"]
    return (
        *launches,
        f"{comparison.terms.centre} of each launch",
        f"{show.percent(policy.confidence)} intervals by Welch's t",
        f"margin {show.percent(policy.margin)}",
    )


def _ends(numbers: Sequence[int]) -> tuple[int, int]:
    return min(numbers), max(numbers)


def _difference(difference: Difference) -> str:
    """`threads: 1 in A, 2 in B`."""
    old, new = difference.baseline, difference.candidate
    return f"{difference.what}: {old} in {BASELINE}, {new} in {CANDIDATE}"
