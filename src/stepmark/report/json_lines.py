"""The whole run as JSON lines: one object a line, in the order it was measured, then what was concluded.

    kind      what the line holds
    run       the head of the run, with the `format` of the records; always first
    solo      one solo pass, its few samples included
    launch    one launch without its lanes: order of building, warming up and of every round
    lane      one case in that launch without its samples: warm-up, rounds, failure
    sample    one phase of that lane: nanoseconds per block of so many iterations, one integer a round
    case      how a case ended
    summary   one phase of a case: estimates with intervals
    verdict   one phase of a case against the baseline; what the record calls kind is called verdict here
    finding   one doubt

Nothing is rounded or left out: the recording can be rebuilt from the lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepmark.records.run import CaseJudgement, Judgement, Recording
from stepmark.records.trial import LaunchTrial, SoloTrial
from stepmark.report.unpacked import encode, plain, plain_trial


def render(judgement: Judgement, recording: Recording) -> str:
    """All lines, each ending in a newline."""
    return "".join(f"{line}\n" for line in lines(judgement, recording))


def lines(judgement: Judgement, recording: Recording) -> Iterator[str]:
    """Line by line, to be written as they come."""
    return map(encode, _objects(judgement, recording))


def _objects(judgement: Judgement, recording: Recording) -> Iterator[dict[str, Any]]:
    yield {"kind": "run", **plain(judgement.run)}
    yield from map(_solo, recording.solos)
    for launch in recording.launches:
        yield from _launch(launch)
    for case in judgement.cases:
        yield from _case(case)
    for finding in judgement.findings:
        yield {"kind": "finding", **plain(finding)}


def _solo(trial: SoloTrial) -> dict[str, Any]:
    fields = plain_trial(trial)
    fields.pop("type")
    return {"kind": "solo", "case_id": trial.case.id, **fields}


def _launch(trial: LaunchTrial) -> Iterator[dict[str, Any]]:
    fields = plain_trial(trial)
    fields.pop("type")
    lanes = fields.pop("lanes")
    place = {"cell_id": trial.cell.id, "launch": trial.number}
    yield {"kind": "launch", "cell_id": trial.cell.id, **fields}
    for lane in lanes:
        samples = lane.pop("samples")
        yield {"kind": "lane", **place, **lane}
        for sample in samples:
            yield {"kind": "sample", **place, "variant": lane["variant"], **sample}


def _case(case: CaseJudgement) -> Iterator[dict[str, Any]]:
    fields = plain(case)
    summaries, verdicts = fields.pop("summaries"), fields.pop("verdicts")
    yield {"kind": "case", "case_id": case.case.id, **fields}
    for summary in summaries:
        yield {"kind": "summary", **summary}
    for verdict in verdicts:
        yield {"kind": "verdict", "verdict": verdict.pop("kind"), **verdict}
