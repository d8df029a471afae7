"""Judge a recording: what is known about each case, and its verdicts against the baseline of its cell."""

from __future__ import annotations

from collections.abc import Mapping

from stepmark.analysis.against import Side, give_verdicts
from stepmark.analysis.seeds import generator_for
from stepmark.analysis.summarize import summarize
from stepmark.analysis.times import read_times
from stepmark.analysis.trials import CaseTrials, gather
from stepmark.records.case import Case
from stepmark.records.estimate import Summary
from stepmark.records.run import CaseJudgement, Judgement, Recording, Run
from stepmark.records.settings import Policy


def judge(recording: Recording, policy: Policy | None = None) -> Judgement:
    """The whole run, by the run's own policy or another; findings are left to the audit."""
    run = recording.run
    policy = run.policy if policy is None else policy
    sides = {id: _read(trials) for id, trials in gather(recording).items()}
    cases = tuple(_judge_case(side, _baseline_of(side, sides, run), run, policy) for side in sides.values())
    return Judgement(run=run, cases=cases, findings=())


def _read(trials: CaseTrials) -> Side:
    layout, lanes = trials.layout, trials.measured
    times = read_times(lanes, layout) if layout and lanes else None
    return Side(trials=trials, times=times if times and times.phases else None)


def _baseline_of(side: Side, sides: Mapping[str, Side], run: Run) -> Side:
    """The baseline of the case's cell; one that was filtered out of the run counts as not measured."""
    cell = side.trials.case.cell
    baseline = Case(variant=run.baseline(cell.suite), cell=cell)
    return sides.get(baseline.id) or Side(trials=CaseTrials(case=baseline), times=None)


def _judge_case(side: Side, baseline: Side, run: Run, policy: Policy) -> CaseJudgement:
    trials, times = side.trials, side.times
    case = trials.case
    summaries: tuple[Summary, ...] = ()
    if times is not None:
        generator = generator_for(run.settings.seed, case.id, "summary")
        summaries = summarize(case.id, times, confidence=policy.confidence, generator=generator)
    is_baseline = side is baseline
    verdicts = () if is_baseline else give_verdicts(side, baseline, policy=policy, settings=run.settings)
    evidence = trials.solo.evidence if trials.solo else None
    return CaseJudgement(
        case=case,
        baseline=is_baseline,
        outcome=trials.outcome,
        failure=trials.failure,
        primary=times.layout.primary if times else None,
        phases=times.phases if times else (),
        summaries=summaries,
        verdicts=verdicts,
        num_launches=len(times.launches) if times else 0,
        parameters=evidence.parameters if evidence else None,
    )
