"""Samples of one case: every block in the order of time, and how they are distributed launch by launch."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import altair as alt

from stepmark.records.run import CaseJudgement, Judgement, Recording
from stepmark.report import format as show
from stepmark.report.figures import readings
from stepmark.report.figures.figure import Figure, Kind, Spec
from stepmark.report.figures.lettering import one_line, slug
from stepmark.report.figures.pieces import Rows, Ruler, figure_spec, layered, marks, tips, unchecked
from stepmark.report.figures.sample_data import LAUNCHES, LEVEL, MOST, SAMPLES, case_named, sample_rows
from stepmark.report.figures.ticks import SECONDS

HEIGHT = 280
NAMES = ("regular", "high mild", "high severe", "low mild", "low severe")
MARKS = ("circle", "diamond", "cross", "diamond", "cross")
REGULAR = "datum.label == 'regular'"
"""One layer draws all: one that a filter leaves without a row would have no scale."""
DRAWN = {"calculate": "isValid(datum.drawn) ? datum.drawn : datum.seconds", "as": "at"}
"""Times far beyond the rest are drawn at the edge; the tooltip tells the truth."""
TIMES = {"calculate": "format(datum.seconds, '.4~s') + 's'", "as": "time"}
TIPS = tips(
    [
        ("launch", "launch"),
        ("round", "round"),
        ("time", "time of an iteration"),
        ("label", "by Tukey's fences"),
    ]
)
LAUNCH_TIPS = tips([("launch", "launch"), ("blocks", "blocks"), ("outliers", "outliers")])


@unchecked()
def samples(
    judgement: Judgement, recording: Recording, case_id: str, *, phase: str | None = None, most: int = MOST
) -> tuple[Figure, ...]:
    """Two figures that read the same data; none where the case has no sample."""
    case = case_named(judgement, case_id)
    datasets = sample_rows(judgement, recording, case_id, phase=phase, most=most)
    phase = phase or case.primary
    if phase is None or not datasets[SAMPLES]:
        return ()
    told, place = _told(case, phase, datasets), f"{crc32(case_id.encode()):08x}"
    return (
        Figure(
            kind=Kind.SAMPLES,
            name=f"{slug('samples-order', phase)}-{place}",
            title=one_line(f"{case_id}: {phase}, block after block"),
            alt=f"Every block in the order of time. {told}",
            reading=readings.ORDER,
            spec=figure_spec(datasets, **_order(), width="container", height=HEIGHT),
        ),
        Figure(
            kind=Kind.SAMPLES,
            name=f"{slug('samples-launches', phase)}-{place}",
            title=one_line(f"{case_id}: {phase}, launch by launch"),
            alt=f"A box a launch. {told}",
            reading=readings.LAUNCHES,
            spec=figure_spec(datasets, **_boxes(), width="container", height=HEIGHT),
        ),
    )


def _told(case: CaseJudgement, phase: str, datasets: dict[str, Rows]) -> str:
    launches = datasets[LAUNCHES]
    blocks, outliers = (sum(row[name] for row in launches) for name in ("blocks", "outliers"))
    medians = [row["median"] for row in launches]
    summary = case.summary(phase)
    level = (
        f" The level is {show.seconds(summary.median)} {show.plus_minus(summary.median)}." if summary else ""
    )
    return (
        f"{show.plural(blocks, 'block')} of {one_line(phase)} in {show.plural(len(launches), 'launch')}, "
        f"{show.plural(outliers, 'outlier')} by Tukey's fences; medians of launches from "
        f"{show.seconds(min(medians))} to {show.seconds(max(medians))}.{level}{_drawn(datasets)}"
    )


def _drawn(datasets: dict[str, Rows]) -> str:
    """What thinning left of the blocks."""
    drawn, blocks = len(datasets[SAMPLES]), sum(row["blocks"] for row in datasets[LAUNCHES])
    return f" {drawn} of the blocks are drawn, all outliers among them." if drawn < blocks else ""


def _upwards() -> Ruler:
    axis = alt.Axis(labelExpr=SECONDS, title="time of an iteration", tickCount=6)
    return Ruler(alt.Scale(zero=False, nice=True), axis)


def _labels(legend: Any) -> dict[str, Any]:
    """Shape and colour by label."""
    names = list(NAMES)
    return {
        "shape": alt.Shape(
            field="label", type="nominal", scale=alt.Scale(domain=names, range=list(MARKS)), legend=legend
        ),
        "color": alt.Color(field="label", type="nominal", scale=alt.Scale(domain=names), legend=legend),
    }


def _order() -> Spec:
    axis = alt.Axis(
        title="blocks in the order of time, by launch", titlePadding=18, grid=False, labels=False, ticks=False
    )
    x, y = Ruler(alt.Scale(zero=False, nice=False), axis), _upwards()
    legend = alt.Legend(
        title=None, orient="top", direction="horizontal", columns=3, symbolOpacity=1, symbolSize=50
    )
    block = marks().mark("point", strokeWidth=1.4)
    span = {"x": x.x("first"), "x2": alt.X2(field="last")}
    at = {"x": x.x("place"), "y": y.y("at"), "tooltip": TIPS}
    return layered(
        marks(data=LAUNCHES, where="datum.odd")
        .mark("rect", style="band", opacity=0.13)
        .encode(**span, tooltip=LAUNCH_TIPS),
        _with(block.encode(**at, **_labels(legend), **_solid(legend)), DRAWN, TIMES),
        marks(data=LAUNCHES).mark("rule", style="level").encode(**span, y=y.y("median")),
        _beyond(x=x.x("place"), y=y),
        marks(data=LAUNCHES, where="isValid(datum.name)")
        .mark("text", style="note", dy=10)
        .encode(x=x.x("middle"), y=alt.value("height"), text=alt.Text(field="name", type="nominal")),
        data=SAMPLES,
    )


def _boxes() -> Spec:
    y = _upwards()
    x = alt.X(field="launch", type="ordinal", axis=alt.Axis(title="launch", labelAngle=0, grid=False))
    outlier = marks(where="datum.label != 'regular' || datum.place == 0").mark(
        "point", size=42, strokeWidth=1.4
    )
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        columns=3,
        symbolOpacity=1,
        symbolSize=50,
        values=list(NAMES[1:]),
    )
    hidden = alt.condition(REGULAR, alt.value(0), alt.value(0.9))
    launch, level = marks(data=LAUNCHES), marks(data=LEVEL)
    inner = {"y": y.y("q1"), "y2": alt.Y2(field="q3")}
    return layered(
        level.mark("rect", style="band").encode(y=y.y("low"), y2=alt.Y2(field="high")),
        level.mark("rule", style="guide", strokeDash=[5, 4]).encode(y=y.y("seconds")),
        launch.mark("rule", style="guide").encode(x=x, y=y.y("low"), y2=alt.Y2(field="high")),
        launch.mark("bar", width={"band": 0.62}, opacity=0.75).encode(
            x=x, **inner, color=alt.value(BOX), tooltip=LAUNCH_TIPS
        ),
        launch.mark("tick", style="level", width={"band": 0.62}, thickness=2).encode(x=x, y=y.y("median")),
        _with(
            outlier.encode(x=x, y=y.y("at"), tooltip=TIPS, **_labels(legend), opacity=hidden), DRAWN, TIMES
        ),
        _beyond(x=x, y=y),
        data=SAMPLES,
    )


BOX = "#5b8db8"
"""Fits light and dark paper."""


def _beyond(*, x: Any, y: Ruler) -> Spec:
    """An arrow at a block that lies beyond the plot."""
    arrow = marks().mark("text", style="trouble", fontSize=9, dy=-9)
    sign = alt.condition("isValid(datum.drawn)", alt.value("▲"), alt.value(""))
    return _with(arrow.encode(x=x, y=y.y("at"), text=sign), DRAWN)


def _solid(legend: Any) -> dict[str, Any]:
    """Regular blocks are small and solid, outliers large and hollow."""
    return {
        "fill": alt.Fill(field="label", type="nominal", scale=alt.Scale(domain=list(NAMES)), legend=legend),
        "fillOpacity": alt.condition(REGULAR, alt.value(0.55), alt.value(0)),
        "strokeOpacity": alt.condition(REGULAR, alt.value(0), alt.value(0.9)),
        "size": alt.condition(REGULAR, alt.value(14), alt.value(42)),
    }


def _with(layer: Spec, *transforms: Spec) -> Spec:
    return {**layer, "transform": [*layer.get("transform", []), *transforms]}
