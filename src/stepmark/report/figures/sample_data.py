"""Samples of one case as rows: every block in the order of time with its label, each launch in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stepmark.errors import UsageError
from stepmark.records.run import CaseJudgement, Judgement, Recording
from stepmark.records.sample import Layout
from stepmark.records.trial import LaneTrial, counting
from stepmark.report.figures.pieces import Rows, rounded
from stepmark.stats.arrays import FloatArray
from stepmark.stats.blocks import integers, seconds_per_iteration
from stepmark.stats.quantile import quantiles
from stepmark.stats.tukey import fences_at, labels

SAMPLES, LAUNCHES, LEVEL = "samples", "launches", "level"
"""Datasets: one row a block, one a launch, and one for the case."""
LABELS = {-2: "low severe", -1: "low mild", 0: "regular", 1: "high mild", 2: "high severe"}
MOST = 2000
"""Blocks that are drawn: beyond it regular ones are thinned evenly, outliers never."""


MOST_NAMES = 14
"""Launches that are named at the upper edge."""
FAR = 12.0
"""In widths of a launch's middle half: what lies farther beyond is drawn at the edge, with an arrow."""
Labels = npt.NDArray[np.int8]


class Launch(NamedTuple):
    """The blocks of one case in one launch."""

    number: int
    rounds: Sequence[int]
    seconds: FloatArray
    """Per iteration."""


def case_named(judgement: Judgement, case_id: str) -> CaseJudgement:
    """The case of this id."""
    found = next((each for each in judgement.cases if each.case.id == case_id), None)
    if found is None:
        raise UsageError(f"the run has no case '{case_id}'", remedy="stepmark show lists its cases")
    return found


def lanes_of(recording: Recording, case_id: str) -> dict[int, LaneTrial]:
    """By number of the launch: the lanes that the numbers of the case rest on, in ascending order."""
    case = next((each for each in recording.run.cases if each.id == case_id), None)
    if case is None:
        raise UsageError(f"the run has no case '{case_id}'", remedy="stepmark show lists its cases")
    mine = counting(launch for launch in recording.launches if launch.cell == case.cell)
    return {
        launch.number: lane
        for launch in sorted(mine, key=lambda launch: launch.number)
        for lane in launch.lanes
        if lane.variant == case.variant
    }


def blocks_of(recording: Recording, case_id: str, phase: str | None) -> list[Launch]:
    """The blocks of a phase or of a total of phases, launch by launch."""
    launches = []
    for number, lane in lanes_of(recording, case_id).items():
        seconds = _seconds(lane, phase)
        if seconds is not None and len(seconds):
            launches.append(Launch(number, [int(each) for each in integers(lane.rounds)], seconds))
    return launches


def _seconds(lane: LaneTrial, phase: str | None) -> FloatArray | None:
    known = {sample.phase: sample for sample in lane.samples}
    parts = _parts(lane.layout, phase)
    if not parts or any(part not in known for part in parts):
        return None
    times = [seconds_per_iteration(known[part].nanoseconds, known[part].iterations) for part in parts]
    total: FloatArray = np.sum(times, axis=0)
    return total


def _parts(layout: Layout | None, phase: str | None) -> tuple[str, ...]:
    totals = {total.name: total.parts for total in layout.totals} if layout else {}
    return totals.get(phase, (phase,)) if phase else ()


def sample_rows(
    judgement: Judgement, recording: Recording, case_id: str, *, phase: str | None = None, most: int = MOST
) -> dict[str, Rows]:
    """The datasets that the figures of samples read; the primary phase unless another is named."""
    case = case_named(judgement, case_id)
    phase = phase or case.primary
    launches = blocks_of(recording, case_id, phase)
    fences = [fences_at(*quantiles(launch.seconds, (0.25, 0.75))) for launch in launches]
    found = [labels(launch.seconds, fence) for launch, fence in zip(launches, fences, strict=True)]
    num = sum(len(launch.seconds) for launch in launches)
    return {
        SAMPLES: _block_rows(launches, found, stride=max(1, -(-num // most))),
        LAUNCHES: _launch_rows(launches, found),
        LEVEL: _level_rows(case, phase),
    }


def _block_rows(launches: Sequence[Launch], found: Sequence[Labels], *, stride: int) -> Rows:
    """Outliers all, of the others every so-manieth; what lies far beyond the rest is drawn at its edge."""
    low, high = _edges(launches)
    rows: Rows = []
    start = 0
    for launch, marked in zip(launches, found, strict=True):
        for n, (value, label) in enumerate(zip(launch.seconds.tolist(), marked.tolist(), strict=True)):
            if label or n % stride == 0:
                row: dict[str, Any] = {"launch": launch.number, "round": launch.rounds[n], "place": start + n}
                row |= {"seconds": rounded(value), "label": LABELS[label]}
                rows.append(
                    row if low <= value <= high else {**row, "drawn": rounded(min(max(value, low), high))}
                )
        start += len(launch.seconds)
    return rows


def _edges(launches: Sequence[Launch]) -> tuple[float, float]:
    """Around the middle half of every launch, and as far beyond it as the typical launch spreads: a single
    disturbed launch does not press all the others into a line."""
    if not launches:
        return 0.0, 0.0
    quartiles = np.array([quantiles(launch.seconds, (0.25, 0.75)) for launch in launches])
    reach = FAR * float(np.median(quartiles[:, 1] - quartiles[:, 0]))
    return max(0.0, float(quartiles[:, 0].min()) - reach), float(quartiles[:, 1].max()) + reach


def _launch_rows(launches: Sequence[Launch], found: Sequence[Labels]) -> Rows:
    rows: Rows = []
    start, stride = 0, max(1, -(-len(launches) // MOST_NAMES))
    for nth, (launch, marked) in enumerate(zip(launches, found, strict=True)):
        first, median, third = quantiles(launch.seconds, (0.25, 0.5, 0.75)).tolist()
        inside = launch.seconds[marked == 0].tolist() or [median]
        end = start + len(launch.seconds)
        rows.append(
            {
                "launch": launch.number,
                "odd": bool(nth % 2),
                **({"name": str(launch.number)} if nth % stride == 0 else {}),
                "first": start - 0.5,
                "middle": (start + end - 1) / 2.0,
                "last": end - 0.5,
                "low": rounded(min(inside)),
                "q1": rounded(first),
                "median": rounded(median),
                "q3": rounded(third),
                "high": rounded(max(inside)),
                "blocks": len(launch.seconds),
                "outliers": int(np.count_nonzero(marked)),
            }
        )
        start = end
    return rows


def _level_rows(case: CaseJudgement, phase: str | None) -> Rows:
    summary = case.summary(phase) if phase else None
    if summary is None:
        return []
    median = summary.median
    return [{"seconds": rounded(median.point), "low": rounded(median.low), "high": rounded(median.high)}]
