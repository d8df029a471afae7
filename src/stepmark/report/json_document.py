"""The whole run as one JSON document: the run, its judgement and every trial with its samples as integers.

    {"format": 1, "run": {...}, "judgement": {"cases": [...], "findings": [...]}, "trials": [...]}

`format` is the version of the records; its history stands beside FORMAT in records/run.py. The "type" of a
trial is "solo" or "launch". Cases, findings and trials have a line each, so documents compare line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stepmark.records.run import FORMAT, CaseJudgement, Judgement, Recording
from stepmark.report.unpacked import encode, plain, plain_trial


def render(judgement: Judgement, recording: Recording) -> str:
    """The document, ending in a newline."""
    return "".join(parts(judgement, recording))


def parts(judgement: Judgement, recording: Recording) -> Iterator[str]:
    """The document piece by piece, for runs too large to hold twice."""
    yield f'{{"format": {FORMAT},\n"run": {encode(plain(judgement.run))},\n"judgement": {{"cases": ['
    yield from _listed(_case(case) for case in judgement.cases)
    yield '],\n"findings": ['
    yield from _listed(encode(plain(finding)) for finding in judgement.findings)
    yield ']},\n"trials": ['
    yield from _listed(encode(plain_trial(trial)) for trial in recording.trials)
    yield "]}\n"


def _case(case: CaseJudgement) -> str:
    return encode({"case_id": case.case.id, **plain(case)})


def _listed(lines: Iterable[str]) -> Iterator[str]:
    for place, line in enumerate(lines):
        yield f",\n{line}" if place else f"\n{line}"
