"""Sweeps: times over a numeric axis, a panel a phase, and where one variant overtakes another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import altair as alt

from stepmark.records.crossover import Crossover
from stepmark.records.run import Judgement
from stepmark.report import format as show
from stepmark.report.figures import readings
from stepmark.report.figures.figure import Figure, Kind, Spec
from stepmark.report.figures.lettering import columns_for, distinct, one_line, shortened, slug
from stepmark.report.figures.pieces import Ruler, figure_spec, layered, marks, tips, unchecked
from stepmark.report.figures.sweep_data import (
    Panel,
    Sweep,
    crossing_rows,
    crossing_text,
    found,
    point_at,
    sweeps_of,
    time_rows,
    times,
)
from stepmark.report.figures.theme import SHAPES
from stepmark.report.figures.ticks import SECONDS, log_scale, log_ticks
from stepmark.report.view import build_view
from stepmark.stats.spacing import is_geometric

TIMES = "times"
WIDE, COLUMNS, GAP = 1080, 4, 62
NARROW_WIDTH = 250
HEIGHT, FREE = 190, 30
"""Pixels of a panel, and of its upper edge, where crossovers are named and failures stand."""
LOG_RANGE = 5.0
"""Times that lie further apart, highest over lowest, get a logarithmic axis."""


@unchecked()
def sweep(judgement: Judgement, crossovers: Iterable[Crossover] = ()) -> tuple[Figure, ...]:
    """One for each suite and numeric axis."""
    crossovers = tuple(crossovers)
    sweeps = [each for suite in build_view(judgement).suites for each in sweeps_of(suite)]
    names = distinct([slug("sweep", each.suite.name, each.axis) for each in sweeps])
    return tuple(_figure(each, crossovers, name=name) for name, each in zip(names, sweeps, strict=True))


def _figure(each: Sweep, crossovers: Sequence[Crossover], *, name: str) -> Figure:
    panels, x = each.panels, _across(each)
    upwards = {
        phase: _upwards(times(panel for panel in panels if panel.phase == phase))
        for phase in dict.fromkeys(panel.phase for panel in panels)
    }
    wide, slim = (
        {phase: _layers(each, x=x, y=y, room=room) for phase, y in upwards.items()}
        for room in (WIDE, NARROW_WIDTH)
    )
    rows = [*time_rows(panels, each), *crossing_rows(panels, crossovers, each)]
    arrange = _side_by_side if len(each.rows) == 1 else _small_multiples
    suite, axis = one_line(each.suite.name), one_line(each.axis)
    return Figure(
        kind=Kind.SWEEP,
        name=name,
        title=f"{suite}: time over {axis}",
        alt=_alt(each, crossovers),
        reading=readings.SWEEP,
        spec=figure_spec({TIMES: rows}, **arrange(panels, each, wide, width=None)),
        narrow=arrange(panels, each, slim, width=NARROW_WIDTH),
    )


def _side_by_side(
    panels: Sequence[Panel], _each: Sweep, layers: Mapping[str, list[Spec]], *, width: int | None
) -> Spec:
    """The phases beside each other."""
    columns = min(3, len(panels)) if width is None else 1
    width = width or _width(columns)
    drawn = [
        layered(
            *layers[panel.phase],
            data=TIMES,
            transform=[{"filter": f"datum.panel == {panel.place}"}],
            width=width,
            height=HEIGHT,
            title=shortened(panel.phase, width),
        )
        for panel in panels
    ]
    return {"concat": drawn, "columns": columns, "spacing": 16}


def _small_multiples(
    panels: Sequence[Panel], each: Sweep, layers: Mapping[str, list[Spec]], *, width: int | None
) -> Spec:
    """A row of panels for each phase, all on the same scales."""
    columns = _even_columns(len(each.rows)) if width is None else 1
    width = width or _width(columns)
    drawn = []
    for phase, marked in layers.items():
        mine = [panel for panel in panels if panel.phase == phase]
        header = alt.Header(title=None, labelAnchor="start", labelLimit=width)
        facet = alt.Facet(
            field="cell",
            type="nominal",
            header=header,
            sort=list(dict.fromkeys(point_at(panel.fixed, each) for panel in mine)),
        )
        drawn.append(
            {
                "data": {"name": TIMES},
                "transform": [{"filter": " || ".join(f"datum.panel == {panel.place}" for panel in mine)}],
                "title": one_line(phase),
                "facet": facet.to_dict(validate=False),
                "columns": columns,
                "resolve": {"axis": {"x": "independent"}},
                "spec": {"layer": marked, "width": width, "height": HEIGHT},
            }
        )
    return {"vconcat": drawn, "spacing": 20}


def _even_columns(num: int) -> int:
    """So many that the last row of panels is as full as it can be."""
    return math.ceil(num / math.ceil(num / COLUMNS))


def _width(columns: int) -> int:
    """Of a panel on a wide page."""
    return max(150, min(420, WIDE // columns - GAP))


def _across(each: Sweep) -> Ruler:
    values = each.values
    geometric = is_geometric(values)
    room = (values[-1] / values[0]) ** 0.05 if geometric else 0.05 * (values[-1] - values[0])
    low, high = (values[0] / room, values[-1] * room) if geometric else (values[0] - room, values[-1] + room)
    whole = all(value.is_integer() for value in values)
    axis = alt.Axis(values=list(values), format="d" if whole else "~g", title=one_line(each.axis))
    plain = alt.Scale(domain=[low, high], nice=False, zero=False)
    return Ruler(log_scale(low, high) if geometric else plain, axis)


def _upwards(seen: list[float]) -> Ruler:
    """Logarithmic where times lie far apart; from zero where they do not."""
    low, high = (min(seen), max(seen)) if seen else (1e-3, 1e-2)
    if high / low >= LOG_RANGE:
        high *= (high / low) ** (FREE / HEIGHT)
        low /= (high / low) ** 0.04
        axis = alt.Axis(values=list(log_ticks(low, high, most=6)), labelExpr=SECONDS, title=None)
        return Ruler(log_scale(low, high), axis)
    high *= 1.0 + 1.3 * FREE / HEIGHT
    return Ruler(
        alt.Scale(domain=[0.0, high], nice=False), alt.Axis(labelExpr=SECONDS, title=None, tickCount=5)
    )


def _layers(each: Sweep, *, x: Ruler, y: Ruler, room: float) -> list[Spec]:
    names = [one_line(name) for name in each.variants]
    shapes = [SHAPES[(place + place // len(SHAPES)) % len(SHAPES)] for place in range(len(names))]
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        columns=columns_for(names, room),
        symbolSize=70,
        symbolOpacity=1,
    )
    colour = alt.Color(field="variant", type="nominal", scale=alt.Scale(domain=names), legend=legend)
    shape = alt.Shape(
        field="variant", type="nominal", scale=alt.Scale(domain=names, range=shapes), legend=legend
    )
    across, upwards, told = x.x("value"), y.y("seconds"), tips(TIP)
    measured, failed = marks(where="isValid(datum.seconds)"), marks(where="isValid(datum.failed)")
    unsure = marks(where="isValid(datum.letter)").mark("text", style="label", fontWeight="bold", dy=-10)
    band = {"y": y.y("low"), "y2": alt.Y2(field="high")}
    return [
        *_crossings(x),
        measured.mark("area", opacity=0.22).encode(x=across, **band, color=colour),
        measured.mark("line", strokeWidth=1.5).encode(x=across, y=upwards, color=colour),
        measured.mark("point", filled=True, size=46, opacity=1).encode(
            x=across, y=upwards, color=colour, shape=shape, tooltip=told
        ),
        unsure.encode(x=across, y=upwards, text=alt.Text(field="letter", type="nominal"), color=colour),
        failed.mark("point", shape="cross", angle=45, size=60, filled=True, yOffset=10).encode(
            x=across, y=alt.value(0), color=colour, tooltip=told
        ),
    ]


TIP = (
    *(("variant", "variant"), ("value", "at"), ("time", "time"), ("ratio", "time / baseline")),
    *(("verdict", "verdict"), ("failed", "failed")),
)


def _crossings(x: Ruler) -> list[Spec]:
    """The stretch in which one overtakes the other, the point where it is known, and its name."""
    crossing, said = marks(where="isValid(datum.sign)"), tips([("told", "crossover")])
    down = {"y": alt.value(FREE - 4), "y2": alt.value(HEIGHT)}
    sign = {"y": alt.value(0), "text": alt.Text(field="sign", type="nominal"), "tooltip": said}
    return [
        crossing.mark("rect", style="band").encode(
            x=x.x("low"), x2=alt.X2(field="high"), **down, tooltip=said
        ),
        marks(where="isValid(datum.at)")
        .mark("rule", style="guide", strokeDash=[4, 3])
        .encode(x=x.x("at"), **down, tooltip=said),
        *(
            marks(where=f"isValid(datum.sign) && datum.nth % 2 == {turn}")
            .mark("text", style="note", dy=7 + 13 * turn)
            .encode(x=x.x("label_at"), **sign)
            for turn in (0, 1)
        ),
    ]


def _alt(each: Sweep, crossovers: Sequence[Crossover]) -> str:
    values, first = each.values, next(iter(each.rows.values()))
    ends = []
    for variant in each.variants:
        seen = [
            (value, view)
            for value, cell in sorted(first.items())
            for row in cell.rows
            if row.variant == variant and (view := found(row, each.phases[0]))
        ]
        if seen:
            (low, one), (high, other) = seen[0], seen[-1]
            ends.append(
                f"{one_line(variant)} {show.seconds(one.time)} at {low:g}, "
                f"{show.seconds(other.time)} at {high:g}"
            )
    mine = [one for one in crossovers if (one.suite, one.axis) == (each.suite.name, each.axis)]
    told = "; ".join(crossing_text(one) for one in mine[:3]) or "no variant overtakes another"
    more = f", and {len(mine) - 3} more crossovers" if len(mine) > 3 else ""
    return (
        f"Times of {show.plural(len(each.variants), 'variant')} of suite {one_line(each.suite.name)} over "
        f"{one_line(each.axis)} from {values[0]:g} to {values[-1]:g}. {each.phases[0]}: {'; '.join(ends)}. "
        f"Crossovers: {told}{more}."
    )
