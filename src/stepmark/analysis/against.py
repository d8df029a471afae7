"""Verdicts of one case against the baseline of its cell, the primary phase first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from stepmark.analysis.compare import compare
from stepmark.analysis.pairing import Paired, pair
from stepmark.analysis.seeds import generator_for
from stepmark.analysis.strength import strength
from stepmark.analysis.times import REMAINDER, Times
from stepmark.analysis.trials import CaseTrials
from stepmark.analysis.verdict import decide, explain
from stepmark.records.estimate import Estimate
from stepmark.records.sample import Layout
from stepmark.records.settings import Policy, Settings
from stepmark.records.verdict import Look, Reason, Verdict, VerdictKind
from stepmark.stats.arrays import FloatArray, deviation
from stepmark.stats.fdr import beyond_margin


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    trials: CaseTrials
    times: Times | None
    """None where nothing was measured."""

    @property
    def primary(self) -> str | None:
        layout = self.times.layout if self.times else self.trials.layout
        return layout.primary if layout else None


@dataclass(frozen=True)
class Match:
    """A case and the baseline of its cell, paired."""

    case: Side
    baseline: Side
    reasons: tuple[Reason, ...] = ()
    """Why there is nothing to compare; empty where there is."""
    different: frozenset[str] = frozenset()
    """Phases that mean different things in the two."""
    paired: Paired | None = None
    """The shared phases in the launches for the verdict."""
    confirming: Paired | None = None
    """The same in the launches that measured a flagged cell again; None where there are none."""

    @property
    def primary_centres(self) -> FloatArray | None:
        """What a look decides by."""
        primary = self.case.primary
        if self.paired is None or primary not in self.paired.phases:
            return None
        return self.paired.of(primary)


def known_centres(matches: Iterable[Match]) -> list[FloatArray]:
    """The centres a look at a cell decides by, one array a variant that can be compared."""
    return [centres for each in matches if (centres := each.primary_centres) is not None]


def match(case: Side, baseline: Side, *, settings: Settings) -> Match:
    """Pair what can be paired."""
    reasons = _nothing_to_compare(case, baseline)
    if reasons or case.times is None or baseline.times is None:
        return Match(case, baseline, reasons)
    different = _different(case.times.layout, baseline.times.layout)
    phases = tuple(
        phase
        for phase in case.times.phases
        if phase in baseline.times.phases and phase != REMAINDER and phase not in different
    )
    confirming = case.trials.cell.confirming
    measuring = {number for number in case.times.launches if number not in confirming}
    paired, confirmed = (
        pair(case.times, baseline.times, phases, among=among, min_rounds=settings.min_rounds)
        for among in (measuring, confirming)
    )
    return Match(
        case, baseline, different=different, paired=paired, confirming=confirmed if confirming else None
    )


def give_verdicts(
    match: Match, *, policy: Policy, settings: Settings, look: Look, num_comparisons: int = 1
) -> tuple[Verdict, ...]:
    """One per phase the two share; a single INVALID one where there is nothing to compare.

    Its phase is the case's primary, else the baseline's, and empty where neither has ever run.
    """
    case, baseline, paired = match.case, match.baseline, match.paired
    if paired is None or case.times is None or baseline.times is None:
        phase = case.primary or baseline.primary or ""
        return (_invalid(match, phase, match.reasons, policy),)
    primary = case.times.layout.primary
    generator = generator_for(settings.seed, case.trials.case.id, "ratio")
    ratios = compare(paired, policy=policy, look=look, generator=generator)
    shared = [p for p in case.times.phases if p in baseline.times.phases and p not in {primary, REMAINDER}]
    verdicts = []
    for phase in (primary, *shared):
        if phase in match.different:
            verdicts.append(_invalid(match, phase, (Reason.PHASES_DIFFER,), policy))
        elif phase in ratios:
            verdicts.append(
                _judge(
                    match,
                    phase,
                    ratios[phase],
                    policy=policy,
                    look=look,
                    num_comparisons=num_comparisons,
                )
            )
        elif phase == primary:
            verdicts.append(_invalid(match, phase, (Reason.NOT_MEASURED,), policy))
    return tuple(verdicts)


def _nothing_to_compare(case: Side, baseline: Side) -> tuple[Reason, ...]:
    """Failures first; a case that failed in company is not compared, though it has samples."""
    reasons = []
    if case.trials.failure is not None:
        reasons.append(Reason.CASE_FAILED)
    if baseline.trials.failure is not None:
        reasons.append(Reason.BASELINE_FAILED)
    if not reasons and (case.times is None or baseline.times is None):
        reasons.append(Reason.NOT_MEASURED)
    return tuple(reasons)


def _different(case: Layout, baseline: Layout) -> frozenset[str]:
    """Phases that mean different things in the two: the primary, and a whole made of other phases."""
    same_whole = case.whole == baseline.whole
    same_parts = case.whole is None or set(case.phases) == set(baseline.phases)
    if case.primary == baseline.primary and same_whole and same_parts:
        return frozenset()
    return frozenset(phase for phase in (case.primary, case.whole, baseline.whole) if phase is not None)


def _judge(
    match: Match, phase: str, ratio: Estimate, *, policy: Policy, look: Look, num_comparisons: int
) -> Verdict:
    assert match.paired is not None
    kind = decide(ratio, margin=policy.margin)
    centres = match.paired.of(phase)
    cell = match.case.trials.cell
    return Verdict(
        case=match.case.trials.case.id,
        baseline=match.baseline.trials.case.id,
        phase=phase,
        kind=kind,
        policy=policy,
        ratio=ratio,
        reasons=explain(kind, ratio, isolation=cell.isolation),
        look=look,
        power=strength(
            centres,
            kind,
            policy=policy,
            look=look,
            launch_seconds=cell.seconds,
            num_comparisons=num_comparisons,
        ),
        p_value=_p_value(centres, policy=policy, look=look),
    )


def _p_value(centres: FloatArray, *, policy: Policy, look: Look) -> float | None:
    """Divided by the look's share: the smallest alpha at which this look, among all, would reject."""
    if centres.size < 2:
        return None
    error = float(deviation(centres)) / math.sqrt(centres.size)
    p = beyond_margin(float(centres.mean()), error, centres.size, margin=math.log1p(policy.margin))
    return min(1.0, p / look.share)


def _invalid(match: Match, phase: str, reasons: tuple[Reason, ...], policy: Policy) -> Verdict:
    return Verdict(
        case=match.case.trials.case.id,
        baseline=match.baseline.trials.case.id,
        phase=phase,
        kind=VerdictKind.INVALID,
        policy=policy,
        reasons=reasons,
    )
