"""Phases: what the time of a step is made of, as stacked bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from stepmark.records.case import Mode
from stepmark.records.run import Judgement
from stepmark.report import format as show
from stepmark.report.figures import readings
from stepmark.report.figures.bars import Lengths, lengths_of
from stepmark.report.figures.figure import Figure, Kind, Spec
from stepmark.report.figures.label_panel import LINES, height_of, label_panel, label_rows, line_channel
from stepmark.report.figures.lettering import distinct, one_line, slug, width_of
from stepmark.report.figures.lines import HEIGHT, Line, ending, everyone, label_width
from stepmark.report.figures.pieces import Rows, Ruler, figure_spec, layered, marks, rounded, tips, unchecked
from stepmark.report.figures.ticks import PERCENT, SECONDS
from stepmark.report.view import PhaseView, RowView, SuiteView, build_view, merge_orders

PARTS = "parts"
LABELS, BARS, VALUES = 250, 620, 130
NARROW_LABELS, NARROW_BARS, NARROW_VALUES = 92, 148, 70
"""Pixels of the columns, on a wide and on a narrow page."""
BAR = HEIGHT - 6
TIPS = tips(
    [
        *(("variant", "variant"), ("point", "at"), ("phase", "phase"), ("time", "time")),
        *(("share", "of the whole"),),
    ]
)


@unchecked()
def phases(judgement: Judgement) -> tuple[Figure, ...]:
    """One for each suite of steps, where one was measured; operations that are timed one by one are no parts
    of anything."""
    suites = [suite for suite in build_view(judgement).suites if any(map(parts_of, _rows_of_steps(suite)))]
    names = distinct([slug("phases", suite.name) for suite in suites])
    return tuple(_figure(suite, name=name) for name, suite in zip(names, suites, strict=True))


def _rows_of_steps(suite: SuiteView) -> list[RowView | None]:
    return [line.row for line in everyone(suite) if line.cell.cell.mode is not Mode.OPS]


def parts_of(row: RowView | None) -> tuple[PhaseView, ...]:
    """What the primary time consists of: its phases, or itself where it has none."""
    if row is None or row.primary is None:
        return ()
    return row.phases or (row.primary,)


def _figure(suite: SuiteView, *, name: str) -> Figure:
    lines = [line for line in everyone(suite) if line.cell.cell.mode is not Mode.OPS]
    lines = [line._replace(place=place) for place, line in enumerate(lines)]
    totals = {line.place: line.row.primary.time.point for line in lines if line.row and line.row.primary}
    lengths = lengths_of(lines, totals)
    names = list(merge_orders([part.name for part in parts_of(line.row)] for line in lines))
    wide = label_width(lines, most=LABELS)
    datasets = {
        LINES: label_rows(lines, width=wide, narrow=NARROW_LABELS, notes=_note),
        PARTS: _rows(lines, lengths),
    }
    return Figure(
        kind=Kind.PHASES,
        name=name,
        title=f"{one_line(suite.name)}: what a step's time is made of",
        alt=_alt(suite, lines),
        reading=readings.PHASES,
        spec=figure_spec(
            datasets,
            spacing=8,
            hconcat=[
                label_panel(lines, width=wide),
                _bars(lines, lengths, names, width=BARS),
                _values(lines, width=VALUES),
            ],
        ),
        narrow={
            "hconcat": [
                label_panel(lines, width=NARROW_LABELS, field="brief"),
                _bars(lines, lengths, names, width=NARROW_BARS),
                _values(lines, width=NARROW_VALUES),
            ]
        },
    )


def _rows(lines: Sequence[Line], lengths: Lengths) -> Rows:
    """One row a part of a bar, laid end to end; a remainder below zero has no length."""
    rows: Rows = []
    for line in lines:
        parts, row = parts_of(line.row), line.row
        if row is None:
            continue
        whole, start = sum(max(part.time.point, 0.0) for part in parts) or 1.0, 0.0
        for part in parts:
            length = lengths.of(line, max(part.time.point, 0.0))
            rows.append(
                {
                    "line": line.place,
                    "phase": one_line(part.name),
                    "start": rounded(start),
                    "end": rounded(start + length),
                    **_inscription(part.name, length / lengths.longest * BARS),
                    "variant": one_line(row.variant),
                    "point": line.point or "the only cell",
                    "time": show.seconds(part.time),
                    "share": show.percent(round(max(part.time.point, 0.0) / whole, 3)),
                }
            )
            start += length
    return rows


def _inscription(name: str, pixels: float) -> dict[str, str]:
    """The phase's name inside its part of the bar, or its first letter, as far as there is room."""
    if width_of(name) * 1.1 + 6.0 <= pixels:
        return {"inside": one_line(name)}
    return {"inside": one_line(name)[:1]} if pixels >= 13.0 else {}


def _bars(lines: Sequence[Line], lengths: Lengths, names: list[str], *, width: int) -> Spec:
    y = line_channel(lines)
    num = 6 if width == BARS else 3
    axis = alt.Axis(labelExpr=SECONDS, title="time of an iteration", tickCount=num)
    if lengths.relative:
        axis = alt.Axis(labelExpr=PERCENT, title="share of the cell's longest step", tickCount=num)
    ruler = Ruler(alt.Scale(domain=[0.0, lengths.longest * 1.04], nice=False), axis)
    legend = alt.Legend(title=None, orient="top", direction="horizontal", columns=6 if width == BARS else 3)
    colour = alt.Color(
        field="phase",
        type="nominal",
        scale=alt.Scale(domain=[one_line(name) for name in names]),
        legend=legend,
    )
    inside = {"y": y, "text": alt.Text(field="inside", type="nominal"), "tooltip": TIPS}
    layers = [
        marks()
        .mark("bar", height=BAR, stroke=None)
        .encode(x=ruler.x("start"), x2=alt.X2(field="end"), y=y, color=colour, tooltip=TIPS)
    ]
    if width == BARS:
        middle = {"calculate": "(datum.start + datum.end) / 2", "as": "middle"}
        text = (
            marks(where="isValid(datum.inside)")
            .mark("text", style="inside")
            .encode(x=ruler.x("middle"), **inside)
        )
        layers.append({**text, "transform": [*text["transform"], middle]})
    return layered(*layers, data=PARTS, width=width, height=height_of(lines))


def _values(lines: Sequence[Line], *, width: int) -> Spec:
    """The whole step's time, or why there is none."""
    y = line_channel(lines)
    return layered(
        marks(where="isValid(datum.total)")
        .mark("text", style="label", align="left", limit=width)
        .encode(
            x=alt.value(2),
            y=y,
            text=alt.Text(field="total" if width == VALUES else "brief_total", type="nominal"),
        ),
        marks(where="isValid(datum.trouble)")
        .mark("text", style="trouble", align="left", limit=width)
        .encode(
            x=alt.value(2),
            y=y,
            text=alt.Text(field="trouble", type="nominal"),
            tooltip=tips([("trouble", "not measured")]),
        ),
        data=LINES,
        width=width,
        height=height_of(lines),
        view={"stroke": None},
    )


def _note(line: Line) -> dict[str, Any]:
    """What stands behind a bar."""
    row = line.row
    if row is None:
        return {}
    if row.primary is None or row.failure:
        return {"trouble": ending(row)}
    time = row.primary.time
    return {"total": f"{show.seconds(time)} {show.plus_minus(time)}", "brief_total": show.seconds(time)}


def _alt(suite: SuiteView, lines: Sequence[Line]) -> str:
    shares: dict[str, list[float]] = {}
    for line in lines:
        parts = parts_of(line.row)
        whole = sum(max(part.time.point, 0.0) for part in parts)
        for part in parts:
            shares.setdefault(part.name, []).append(max(part.time.point, 0.0) / whole if whole else 0.0)
    told = ", ".join(f"{one_line(name)} {_span(found)}" for name, found in shares.items())
    failed = sum(1 for line in lines if line.row and line.row.primary is None)
    measured = sum(1 for line in lines if line.row and line.row.primary)
    without = f" {show.plural(failed, 'case')} without a time." if failed else ""
    return (
        f"Stacked bars of {show.plural(measured, 'case')} of suite {one_line(suite.name)}; "
        f"shares of the step: {told or 'nothing was measured'}.{without}"
    )


def _span(shares: Sequence[float]) -> str:
    low, high = (round(100.0 * each) for each in (min(shares), max(shares)))
    return f"{low}{show.NBSP}%" if low == high else f"{low} to {high}{show.NBSP}%"
