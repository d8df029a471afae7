"""The comparison of two recordings that were not interleaved: pairs of cases, what differs, verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from stepmark.analysis.case_pairs import case_facts, pair_cases
from stepmark.analysis.launch_levels import read_levels, shortest_launch, times_of
from stepmark.analysis.run_facts import Facts, differences, run_facts
from stepmark.analysis.run_history import History
from stepmark.analysis.trials import CaseTrials, gather
from stepmark.analysis.unpaired import CasePair, compare_case
from stepmark.errors import UsageError
from stepmark.records.comparison import Aspect, ComparedRun, Comparison, Difference, Standing, Terms
from stepmark.records.run import Recording, Run

Names = tuple[str | None, str | None]
"""What the user calls the baseline and the candidate."""
_SHOWN = (Aspect.WORK, Aspect.ISOLATION, Aspect.COMPANY)
"""Aspects that only a case that was measured can show."""


def compare_runs(
    baseline: Recording,
    candidate: Recording,
    *,
    terms: Terms | None = None,
    history: Iterable[Recording] = (),
    names: Names = (None, None),
) -> Comparison:
    """Hold two runs against each other, case by case.

    `history` are other stored runs: those of unchanged code tell how far levels wander from run to run. Each
    is read once and let go, so that it may be a generator over a large store.
    """
    terms = terms or Terms()
    runs = (baseline.run, candidate.run)
    found = pair_cases(*runs)
    if not found.matched:
        raise UsageError(
            f"runs {runs[0].id} and {runs[1].id} have no case in common",
            remedy="stepmark show RUN says what each of them measured",
        )
    old, new = gather(baseline), gather(candidate)
    pairs = [_pair(old[first.id], new[second.id], terms) for first, second in found.matched]
    past = _past(pairs, (baseline, candidate), history, terms)
    between = differences(*map(run_facts, runs), allow=terms.allow)
    refused = any(difference.standing is Standing.REFUSED for difference in between)
    return Comparison(
        baseline=_side(runs[0], names[0]),
        candidate=_side(runs[1], names[1]),
        terms=terms,
        differences=between,
        cases=tuple(compare_case(pair, past, terms=terms, refused=refused) for pair in pairs),
        only_baseline=tuple(case.id for case in found.only_baseline),
        only_candidate=tuple(case.id for case in found.only_candidate),
    )


def _side(run: Run, name: str | None) -> ComparedRun:
    repository = run.environment.repository
    return ComparedRun(
        id=run.id,
        name=name,
        started=run.started,
        commit=repository.commit if repository else None,
        dirty=bool(repository and repository.dirty),
    )


def _pair(baseline: CaseTrials, candidate: CaseTrials, terms: Terms) -> CasePair:
    """Levels of the phases both have, by the same number of rounds: the minimum of more rounds is lower."""
    levels, num_rounds = None, 0
    old, new = times_of(baseline), times_of(candidate)
    if old is not None and new is not None:
        num_rounds = min(shortest_launch(old), shortest_launch(new))
        first, second = (
            read_levels(times, centre=terms.centre, num_rounds=num_rounds) for times in (old, new)
        )
        shared = tuple(phase for phase in second.phases if phase in first.phases)
        levels = (first.rows(shared), second.rows(shared))
    return CasePair(
        baseline=baseline,
        candidate=candidate,
        levels=levels,
        num_rounds=num_rounds,
        differences=_case_differences(baseline, candidate, terms),
    )


def _case_differences(baseline: CaseTrials, candidate: CaseTrials, terms: Terms) -> tuple[Difference, ...]:
    """What only one of the two could show does not differ: the other failed or ended before it could."""
    old, new = case_facts(baseline), case_facts(candidate)
    if _shown(old) != _shown(new) or not baseline.measured or not candidate.measured:
        old, new = ({fact: facts[fact] for fact in facts if fact[0] not in _SHOWN} for facts in (old, new))
    return differences(old, new, allow=terms.allow)


def _shown(facts: Facts) -> tuple[bool, bool]:
    """Whether the phases and the evidence of a case are known."""
    return (Aspect.WORK, "phases") in facts, (Aspect.WORK, "parameters") in facts


def _past(
    pairs: Iterable[CasePair],
    compared: tuple[Recording, Recording],
    history: Iterable[Recording],
    terms: Terms,
) -> History:
    """The compared runs tell how others of their code wander. Where both seem to be of the same code, their
    difference is what is asked for (a library that no commit names may have changed): neither tells."""
    num_rounds = {
        trials.case.id: pair.num_rounds
        for pair in pairs
        if pair.levels is not None
        for trials in (pair.baseline, pair.candidate)
    }
    runs = (compared[0].run, compared[1].run)
    past = History(runs, centre=terms.centre, num_rounds=num_rounds)
    others = (each for each in history if each.run.id not in {runs[0].id, runs[1].id})
    for recording in others if run_facts(runs[0]) == run_facts(runs[1]) else chain(compared, others):
        past.add(recording)
    return past
