"""The summary of a run: what lists and histories show of it, taken from its judgement."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b

import msgspec

from stepmark.analysis.run_facts import Facts, code_is_known, run_facts
from stepmark.records.comparison import MUST_AGREE, Aspect
from stepmark.records.outcome import Outcome
from stepmark.records.run import CaseJudgement, Judgement, Run
from stepmark.records.run_summary import CaseSummary, Conditions, RunSummary

VERSION = 3
"""Of the rules behind levels, ratios and verdicts: one more whenever any of them changes what it says.

1   2026-11   first
2   2026-11   what the audit takes away is no discovery; unfinished runs as at an early look; finite bounds
3   2026-11   finite bounds of differences, too
"""

_ONE_SERIES = MUST_AGREE | {Aspect.TORCH}
"""What differs here moves levels by itself. torch is among them: its releases are no change of the code."""
_NOT_SHOWN = {(Aspect.TORCH, "torch build")}
"""A digest, of a version that is named."""


def summarize_run(judgement: Judgement) -> RunSummary:
    """By the rules of VERSION."""
    run = judgement.run
    verdicts = Counter(case.verdict.kind for case in judgement.cases if case.verdict is not None)
    return RunSummary(
        run=run.id,
        version=VERSION,
        conditions=conditions_of(run),
        code=_code(run),
        verdicts=tuple(sorted(verdicts.items())),
        num_failed=sum(case.outcome not in {None, Outcome.MEASURED} for case in judgement.cases),
        cases=tuple(summary for case in judgement.cases for summary in _case(case)),
    )


def unreadable(run_id: str) -> RunSummary:
    """Of a run whose records cannot be read: it is listed, and nothing is known about it."""
    return RunSummary(
        run=run_id,
        version=VERSION,
        conditions=Conditions(key=_digest(()), facts=()),
        code=None,
        verdicts=(),
        num_failed=0,
        cases=(),
    )


def conditions_of(run: Run) -> Conditions:
    """What must agree for levels of two runs to be one series."""
    facts: Facts = {
        fact: value
        for fact, value in run_facts(run).items()
        if fact[0] in _ONE_SERIES and fact not in _NOT_SHOWN
    }
    facts[Aspect.ISOLATION, "isolation"] = run.settings.isolation.value
    named = tuple((what, value) for (_, what), value in sorted(facts.items()))
    return Conditions(key=_digest(named), facts=named)


def _code(run: Run) -> str | None:
    if not code_is_known(run):
        return None
    facts = sorted((aspect.value, what, value) for (aspect, what), value in run_facts(run).items())
    return _digest([facts, sorted(case.id for case in run.cases)])


def _case(case: CaseJudgement) -> list[CaseSummary]:
    verdicts = {verdict.phase: verdict for verdict in case.verdicts}
    found = []
    for summary in case.summaries:
        verdict = verdicts.get(summary.phase)
        num = max(summary.median.num_launches, 1)
        found.append(
            CaseSummary(
                case=case.case.id,
                phase=summary.phase,
                primary=summary.phase == case.primary,
                level=summary.median,
                error=summary.spread_between**2 / num,
                ratio=verdict.ratio if verdict else None,
                verdict=verdict.kind if verdict else None,
            )
        )
    return found


def _digest(value: object) -> str:
    return blake2b(msgspec.json.encode(value), digest_size=8).hexdigest()
