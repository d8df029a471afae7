"""The warm-up of one case: its first iterations, and the blocks until it was steady, launch by launch."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import altair as alt
import numpy as np

from stepmark.records.run import Recording
from stepmark.records.trial import LaneTrial
from stepmark.report import format as show
from stepmark.report.figures import readings
from stepmark.report.figures.figure import Figure, Kind, Spec
from stepmark.report.figures.lettering import one_line, slug
from stepmark.report.figures.pieces import Rows, Ruler, figure_spec, layered, marks, rounded, tips, unchecked
from stepmark.report.figures.sample_data import lanes_of
from stepmark.report.figures.ticks import SECONDS
from stepmark.stats.blocks import integers, seconds_per_iteration
from stepmark.stats.quantile import median

WARMUP, STEADY = "warmup", "steady"
"""Datasets: one row an iteration or block of the warm-up, and one row for the level afterwards."""
MOST = 3000
FIRST, BLOCKS = "first iterations", "warm-up blocks"
HEIGHT = 320
TIPS = tips(
    [
        ("launch", "launch"),
        ("iteration", "iteration"),
        ("time", "time"),
        ("part", "part"),
        ("settled", "settled"),
    ]
)
TIMES = {"calculate": "format(datum.seconds, '.4~s') + 's'", "as": "time"}


@unchecked()
def warmup(recording: Recording, case_id: str, *, most: int = MOST) -> tuple[Figure, ...]:
    """None where no launch of the case got as far as a warm-up."""
    datasets = warmup_rows(recording, case_id, most=most)
    if not datasets[WARMUP]:
        return ()
    return (
        Figure(
            kind=Kind.WARMUP,
            name=f"{slug('warmup')}-{crc32(case_id.encode()):08x}",
            title=one_line(f"{case_id}: warm-up"),
            alt=_alt(datasets, recording, case_id),
            reading=readings.WARMUP,
            spec=figure_spec(datasets, **_plot(), width="container", height=HEIGHT),
        ),
    )


def warmup_rows(recording: Recording, case_id: str, *, most: int = MOST) -> dict[str, Rows]:
    """The datasets that the figure reads."""
    lanes = lanes_of(recording, case_id)
    num = sum(_length(lane) for lane in lanes.values())
    stride = max(1, -(-num // most))
    rows = [row for number, lane in lanes.items() for row in _lane_rows(number, lane, stride=stride)]
    return {WARMUP: rows, STEADY: _steady(lanes)}


def _length(lane: LaneTrial) -> int:
    return (len(lane.warmup.first) + len(lane.warmup.nanoseconds)) // 8 if lane.warmup else 0


def _lane_rows(number: int, lane: LaneTrial, *, stride: int) -> Rows:
    """First iterations all; of the blocks every so-manieth, and the last one."""
    warm = lane.warmup
    if warm is None:
        return []
    shared: dict[str, Any] = {"launch": number, "settled": "yes" if warm.settled else "no"}
    first = seconds_per_iteration(warm.first, 1).tolist()
    blocks = seconds_per_iteration(warm.nanoseconds, max(1, warm.iterations)).tolist()
    rows = [
        {**shared, "iteration": n, "seconds": rounded(value), "part": FIRST}
        for n, value in enumerate(first, 1)
        if value > 0.0
    ]
    ends = len(first) + warm.iterations * np.arange(1, len(blocks) + 1)
    rows += [
        {**shared, "iteration": int(end), "seconds": rounded(value), "part": BLOCKS}
        for n, (end, value) in enumerate(zip(ends.tolist(), blocks, strict=True))
        if value > 0.0 and (n % stride == 0 or n == len(blocks) - 1)
    ]
    return rows


def _steady(lanes: dict[int, LaneTrial]) -> Rows:
    """The median of the launches' medians of what a lane's warm-up runs: the whole iteration."""
    medians = []
    for lane in lanes.values():
        whole = lane.layout.whole or lane.layout.primary if lane.layout else None
        sample = next((each for each in lane.samples if each.phase == whole), None)
        if sample is not None and sample.num_blocks:
            medians.append(float(median(seconds_per_iteration(sample.nanoseconds, sample.iterations))))
    return [{"seconds": rounded(float(median(np.asarray(medians))))}] if medians else []


def _plot() -> Spec:
    x = Ruler(
        alt.Scale(type="log", nice=False),
        alt.Axis(title="iteration since the launch began", format="~s", tickCount=6),
    )
    y = Ruler(
        alt.Scale(type="log", nice=False, padding=8),
        alt.Axis(labelExpr=SECONDS, title="time of an iteration", tickCount=6),
    )
    detail = alt.Detail(field="launch", type="ordinal")
    legend = alt.Legend(title=None, orient="top", direction="horizontal", symbolOpacity=1, symbolSize=50)
    parts = [FIRST, BLOCKS]
    colour = alt.Color(field="part", type="nominal", scale=alt.Scale(domain=parts), legend=legend)
    known = alt.Shape(
        field="part",
        type="nominal",
        scale=alt.Scale(domain=parts, range=["diamond", "circle"]),
        legend=legend,
    )
    restless = f"datum.settled == 'no' && datum.part == '{BLOCKS}'"
    shape = alt.condition(restless, alt.value("cross"), known)
    at = {"x": x.x("iteration"), "y": y.y("seconds")}
    point = marks().mark("point", filled=True, size=26, opacity=0.75)
    return layered(
        marks().mark("line", strokeWidth=1, opacity=0.28).encode(**at, detail=detail, color=alt.value(LINE)),
        {**point.encode(**at, color=colour, shape=shape, tooltip=TIPS), "transform": [TIMES]},
        marks(data=STEADY).mark("rule", style="guide", strokeDash=[5, 4]).encode(y=y.y("seconds")),
        data=WARMUP,
    )


LINE = "#7c8087"


def _alt(datasets: dict[str, Rows], recording: Recording, case_id: str) -> str:
    lanes = [lane.warmup for lane in lanes_of(recording, case_id).values() if lane.warmup]
    settled = sum(each.settled for each in lanes)
    firsts = [float(integers(each.first)[0]) * 1e-9 for each in lanes if each.first]
    first = (
        f" The first iteration took {show.seconds(min(firsts))} to {show.seconds(max(firsts))}."
        if firsts
        else ""
    )
    steady = datasets[STEADY]
    level = f" The level afterwards is {show.seconds(steady[0]['seconds'])}." if steady else ""
    launches = show.plural(len(lanes), "launch")
    return f"Warm-up of {one_line(case_id)} in {launches}, settled in {settled}.{first}{level}"
