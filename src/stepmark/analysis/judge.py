"""Judge a recording: what is known about each case, and its verdicts against the baseline of its cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from msgspec.structs import replace

from stepmark.analysis.against import Match, Side, give_verdicts, known_centres, match
from stepmark.analysis.boundness import boundness
from stepmark.analysis.levels import spread_of
from stepmark.analysis.limits import limit_of
from stepmark.analysis.memory_use import memory_use
from stepmark.analysis.seeds import generator_for
from stepmark.analysis.stopping import look_at
from stepmark.analysis.summarize import summarize
from stepmark.analysis.sweep import control, num_comparisons, wants_confirmation
from stepmark.analysis.times import read_times
from stepmark.analysis.trials import CaseTrials, gather
from stepmark.records.case import Case
from stepmark.records.estimate import Summary
from stepmark.records.run import CaseJudgement, Judgement, Recording, Run, RunStatus
from stepmark.records.sample import Layout
from stepmark.records.settings import Policy
from stepmark.records.spread import Spread
from stepmark.records.verdict import Look, Verdict
from stepmark.stats.arrays import FloatArray, count


def judge(recording: Recording, policy: Policy | None = None, *, wrong: Set[str] = frozenset()) -> Judgement:
    """The whole run, by the run's own policy or another; findings are left to the audit. What stands among
    all comparisons is asked without the cases in `wrong`, whose numbers are not what they claim to be."""
    run = recording.run
    policy = run.policy if policy is None else policy
    sides = {id: read_side(trials) for id, trials in gather(recording).items()}
    matches = {
        id: match(side, baseline, settings=run.settings)
        for id, side in sides.items()
        if (baseline := baseline_of(side, sides, run)) is not side
    }
    verdicts = _verdicts(matches, run, policy, wrong)
    cases = tuple(
        _judge_case(side, matches.get(id), verdicts.get(id, ()), run, policy) for id, side in sides.items()
    )
    seconds = sum(trial.seconds for trial in recording.trials)
    return Judgement(run=run, cases=cases, findings=(), seconds=seconds)


def read_side(trials: CaseTrials) -> Side:
    """The times of one case, where it has any."""
    layout, lanes = trials.layout, trials.measured
    times = read_times(lanes, layout) if layout and lanes else None
    return Side(trials=trials, times=times if times and times.phases else None)


def baseline_of(side: Side, sides: Mapping[str, Side], run: Run) -> Side:
    """The baseline of the case's cell; one that was filtered out of the run counts as not measured."""
    cell = side.trials.case.cell
    baseline = Case(variant=run.baseline(cell.suite), cell=cell)
    return sides.get(baseline.id) or Side(trials=CaseTrials(case=baseline), times=None)


def _verdicts(
    matches: Mapping[str, Match], run: Run, policy: Policy, wrong: Set[str]
) -> dict[str, tuple[Verdict, ...]]:
    looks = _looks(matches.values(), run)
    given = {
        id: give_verdicts(
            each,
            policy=policy,
            settings=run.settings,
            look=looks[each.case.trials.case.cell.id],
            num_comparisons=num_comparisons(run),
        )
        for id, each in matches.items()
    }
    return _controlled(given, matches, run, policy, wrong)


def _looks(matches: Iterable[Match], run: Run) -> dict[str, Look]:
    """The last look at each cell."""
    comparisons = num_comparisons(run)
    by_cell: dict[str, list[Match]] = {}
    for each in matches:
        by_cell.setdefault(each.case.trials.case.cell.id, []).append(each)
    return {
        cell: look_at(
            known_centres(group),
            group[0].case.trials.cell.counted,
            settings=run.settings,
            policy=run.policy,
            num_comparisons=comparisons,
            ended=run.status is RunStatus.COMPLETE,
        )
        for cell, group in by_cell.items()
    }


def _controlled(
    given: Mapping[str, tuple[Verdict, ...]],
    matches: Mapping[str, Match],
    run: Run,
    policy: Policy,
    wrong: Set[str],
) -> dict[str, tuple[Verdict, ...]]:
    """All comparisons of a phase together; the primary phases, whatever their names, are one family. What the
    audit takes away is no comparison: a discovery that is none would make room for others."""
    is_sweep = wants_confirmation(len({case.cell.id for case in run.cases}), run.settings)
    families: dict[str | None, list[tuple[str, int]]] = {}
    for id, verdicts in given.items():
        for place, verdict in enumerate(verdicts):
            if verdict.case in wrong or verdict.baseline in wrong:
                continue
            families.setdefault(verdict.phase if place else None, []).append((id, place))
    controlled = {id: list(verdicts) for id, verdicts in given.items()}
    for phase, places in families.items():
        judged = control(
            [given[id][place] for id, place in places],
            [_fresh(matches[id], given[id][place].phase) for id, place in places],
            policy=policy,
            confirm=run.settings.confirm if is_sweep and phase is None else 0,
        )
        for (id, place), verdict in zip(places, judged, strict=True):
            controlled[id][place] = verdict
    return {id: tuple(verdicts) for id, verdicts in controlled.items()}


def _fresh(each: Match, phase: str) -> FloatArray | None:
    if each.confirming is None or phase not in each.confirming.phases:
        return None
    return each.confirming.of(phase)


def _judge_case(
    side: Side, paired: Match | None, verdicts: tuple[Verdict, ...], run: Run, policy: Policy
) -> CaseJudgement:
    trials, times = side.trials, side.times
    case = trials.case
    summaries: tuple[Summary, ...] = ()
    if times is not None:
        generator = generator_for(run.settings.seed, case.id, "summary")
        summaries = summarize(case.id, times, confidence=policy.confidence, generator=generator)
        summaries = _with_boundness(summaries, trials, times.layout)
    evidence = trials.solo.evidence if trials.solo else None
    return CaseJudgement(
        case=case,
        baseline=paired is None,
        outcome=trials.outcome,
        failure=trials.failure,
        primary=times.layout.primary if times else None,
        phases=times.phases if times else (),
        summaries=summaries,
        verdicts=verdicts,
        num_launches=sum(number not in trials.cell.confirming for number in times.launches) if times else 0,
        num_confirming=sum(number in trials.cell.confirming for number in times.launches) if times else 0,
        num_rounds=int(sorted(count(times.seconds[0]).tolist())[len(times.launches) // 2]) if times else 0,
        spread=_spread(side, paired, summaries),
        parameters=evidence.parameters if evidence else None,
        memory=memory_use(evidence),
        limit=limit_of(case.cell, evidence, run.ceilings, _primary_seconds(side, summaries)),
    )


def _primary_seconds(side: Side, summaries: Sequence[Summary]) -> float | None:
    return next((each.median.point for each in summaries if each.phase == side.primary), None)


def _with_boundness(
    summaries: tuple[Summary, ...], trials: CaseTrials, layout: Layout
) -> tuple[Summary, ...]:
    known = boundness(trials.measured, layout)
    return tuple(
        replace(summary, **known[summary.phase]._asdict()) if summary.phase in known else summary
        for summary in summaries
    )


def _spread(side: Side, paired: Match | None, summaries: Sequence[Summary]) -> Spread | None:
    primary = side.primary
    if paired is None or paired.paired is None or primary is None:
        return None
    block = next((each.spread_within for each in summaries if each.phase == primary), 0.0)
    return spread_of(side.trials, paired.paired, primary, block=block)
