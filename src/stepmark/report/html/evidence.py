"""Evidence for one case, gathered for its part of the page: work, launches, turns, and the raw values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from stepmark.records.estimate import Summary
from stepmark.records.evidence import Evidence
from stepmark.records.finding import Finding
from stepmark.records.inspection import PhaseInspection
from stepmark.records.run import CaseJudgement, Judgement, Recording
from stepmark.records.trial import LaneTrial, LaunchTrial, counting
from stepmark.report.html.carrying import Timed, primary_seconds, turns_in
from stepmark.report.html.operator_lines import phase_operators
from stepmark.report.html.packing import Integers
from stepmark.report.html.page_view import CaseEvidence, LaunchLine, PhaseWork, TurnLine
from stepmark.report.html.series import CaseSeries, Level
from stepmark.stats.arrays import FloatArray
from stepmark.stats.quantile import median
from stepmark.stats.tukey import labels


def timed_cases(recording: Recording, judgement: Judgement | None = None) -> dict[str, Timed]:
    """By case id, the lanes with blocks in the launches that the numbers rest on, in time order, and what was
    judged from them."""
    judged = {case.case.id: case for case in judgement.cases} if judgement else {}
    cells: dict[str, list[LaunchTrial]] = {}
    for launch in recording.launches:
        cells.setdefault(launch.cell.id, []).append(launch)
    lanes: dict[tuple[str, str], list[tuple[LaunchTrial, LaneTrial, Integers]]] = {}
    for cell, launches in cells.items():
        for launch in sorted(counting(launches), key=lambda each: each.number):
            turns = turns_in(launch)
            for lane in launch.lanes:
                if lane.rounds and lane.samples and lane.layout is not None:
                    lanes.setdefault((cell, lane.variant), []).append((launch, lane, turns[lane.variant]))
    timed = {}
    for case in recording.run.cases:
        found = lanes.get((case.cell.id, case.variant), [])
        layout = found[0][1].layout if found else None
        if layout is not None:
            known = judged[case.id].summaries if case.id in judged else ()
            timed[case.id] = Timed(
                layout=layout,
                lanes=tuple((launch, lane) for launch, lane, _ in found),
                turns=tuple(turns for _, _, turns in found),
                levels=tuple(_levels(known)),
            )
    return timed


def _levels(summaries: Iterable[Summary]) -> Iterator[Level]:
    for summary in summaries:
        median = summary.median
        yield Level(phase=summary.phase, seconds=median.point, low=median.low, high=median.high)


def gather_evidence(
    judgement: Judgement,
    recording: Recording,
    *,
    timed: Mapping[str, Timed],
    series: Mapping[str, CaseSeries],
    labels: Mapping[str, str],
    anchors: Mapping[str, str],
) -> tuple[CaseEvidence, ...]:
    """One for each case of the run, in its order."""
    solos = {solo.case.id: solo.evidence for solo in recording.solos}
    findings: dict[str, list[Finding]] = {}
    for finding in judgement.findings:
        findings.setdefault(finding.case, []).append(finding)
    gathered = []
    for judged in judgement.cases:
        id = judged.case.id
        own, solo = timed.get(id), solos.get(id)
        gathered.append(
            CaseEvidence(
                anchor=anchors[id],
                label=labels[id],
                judged=judged,
                findings=tuple(findings.get(id, ())),
                solo=solo,
                work=tuple(_work(judged, solo)),
                operators=tuple(phase_operators(solo.inspection if solo else None)),
                launches=tuple(_launches(own)) if own else (),
                turns=tuple(_turns(own)) if own else (),
                series=series.get(id),
            )
        )
    return tuple(gathered)


def _work(judged: CaseJudgement, solo: Evidence | None) -> Iterator[PhaseWork]:
    """Every phase with a time, then inspected ones without (a captured step is timed as one)."""
    inspected = {phase.phase: phase for phase in _inspected(solo)}
    flops = sum(phase.flops for phase in inspected.values())
    traffic = sum(phase.traffic for phase in inspected.values())
    whole = judged.summary(judged.primary) if judged.primary else None
    for name in dict.fromkeys((*judged.phases, *inspected)):
        summary, seen = judged.summary(name), inspected.get(name)
        time = summary.median if summary else None
        yield PhaseWork(
            phase=name,
            time=time,
            time_share=time.point / whole.median.point if time and whole and whole.median.point else None,
            operations=seen.operations if seen else None,
            flops=seen.flops if seen else None,
            work_share=seen.flops / flops if seen and flops else None,
            traffic=seen.traffic if seen else None,
            traffic_share=seen.traffic / traffic if seen and traffic else None,
            products=seen.products if seen else (),
        )


def _inspected(solo: Evidence | None) -> Iterable[PhaseInspection]:
    return solo.inspection.phases if solo and solo.inspection else ()


def _launches(timed: Timed) -> Iterator[LaunchLine]:
    seconds = primary_seconds(timed)
    if seconds is None:
        return
    centres = median(seconds)
    outliers = np.count_nonzero(labels(seconds), axis=-1)
    for row, (launch, lane) in enumerate(timed.lanes):
        yield LaunchLine(
            number=launch.number,
            role=launch.role,
            rounds=len(lane.rounds) // 8,
            median=float(centres[row]),
            outliers=int(outliers[row]),
            built=_place(launch.build_order, lane.variant),
            warmed=_place(launch.warmup_order, lane.variant),
            lanes=len(launch.lanes),
            seconds=launch.seconds,
            settled=lane.warmup is None or lane.warmup.settled,
            load=launch.load.load_1m if launch.load else None,
            cut_short=launch.cut_short,
        )


def _place(order: Sequence[str], variant: str) -> int | None:
    return order.index(variant) + 1 if variant in order else None


def _turns(timed: Timed) -> Iterator[TurnLine]:
    """How long the case took as the first, the second, ... of a round, against its launch's median; a launch
    that a coarse clock saw at 0 tells nothing of it."""
    seconds = primary_seconds(timed)
    if seconds is None:
        return
    told = [
        (_there(row) / middle, places)
        for row, middle, places in zip(seconds, median(seconds), timed.turns, strict=True)
        if middle > 0.0
    ]
    if not told:
        return
    flat, places = (np.concatenate(each) for each in zip(*told, strict=True))
    for turn in np.unique(places[places > 0]).tolist():
        chosen = flat[places == turn]
        yield TurnLine(turn=turn, rounds=int(chosen.size), relative=float(median(chosen)))


def _there(row: FloatArray) -> FloatArray:
    return row[~np.isnan(row)]
