"""The roofline: the rate of every case below the ceilings that were measured on its machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from stepmark.records.ceilings import Ceilings
from stepmark.records.limit import RELAXED
from stepmark.records.run import Judgement
from stepmark.report import format as show
from stepmark.report.figures import readings
from stepmark.report.figures.figure import Figure, Kind, Spec
from stepmark.report.figures.lettering import columns_for, distinct, one_line, shortened, slug
from stepmark.report.figures.lines import Line, everyone
from stepmark.report.figures.pieces import Ruler, figure_spec, layered, marks, rounded, tips, unchecked
from stepmark.report.figures.roofs import (
    HEIGHT,
    LEVEL_DX,
    LEVEL_DY,
    SLOPE_DX,
    SLOPE_DY,
    WIDTH,
    Frame,
    Rates,
    frame_of,
    labelled,
    name_rows,
    roof_rows,
    si,
)
from stepmark.report.figures.theme import SHAPES
from stepmark.report.figures.ticks import RATE, log_scale, log_ticks
from stepmark.report.view import SuiteView, build_view

CASES, ROOFS, NAMES = "cases", "roofs", "names"
NARROW_LEGEND = 330
"""Pixels: the page may be a telephone's."""
TIPS = tips(
    [
        *(("variant", "variant"), ("point", "at"), ("rate", "computes"), ("moved", "reads and writes")),
        *(("intensity", "work per byte"), ("share", "of the limit")),
    ]
)


@unchecked()
def roofline(judgement: Judgement) -> tuple[Figure, ...]:
    """One for each suite of which work and traffic were counted, on the device of the ceilings."""
    ceilings = judgement.run.ceilings
    if ceilings is None:
        return ()
    shown = []
    for suite in build_view(judgement).suites:
        lines = [line for line in everyone(suite) if line.row and line.cell.cell.device == ceilings.device]
        if any(_is_counted(line) for line in lines):
            shown.append((suite, lines))
    names = distinct([slug("roofline", suite.name) for suite, _ in shown])
    return tuple(
        _figure(suite, lines, ceilings, name=name) for name, (suite, lines) in zip(names, shown, strict=True)
    )


def _is_counted(line: Line) -> bool:
    limit = line.row.limit if line.row else None
    return bool(limit and limit.flops_per_second and limit.bytes_per_second)


def _figure(suite: SuiteView, lines: Sequence[Line], ceilings: Ceilings, *, name: str) -> Figure:
    on_it = [line for line in lines if _is_counted(line)]
    left_out = [line for line in lines if not _is_counted(line)]
    rates = _rates(on_it, ceilings)
    rows = [_row(line) for line in on_it]
    frame = frame_of(rows, rates, ceilings)
    variants = list(dict.fromkeys(one_line(line.row.variant) for line in on_it if line.row))
    names = name_rows(rates, ceilings, frame)
    datasets = {
        CASES: labelled(rows, names, frame),
        ROOFS: roof_rows(rates, ceilings, frame),
        NAMES: names,
    }
    note = (
        {"title": {"text": _left_out(left_out), "fontWeight": "normal", "fontSize": 11}} if left_out else {}
    )
    return Figure(
        kind=Kind.ROOFLINE,
        name=name,
        title=f"{one_line(suite.name)}: work per second, and what this machine allows",
        alt=_alt(suite, on_it, left_out, rates, ceilings),
        reading=readings.ROOFLINE,
        spec=figure_spec(datasets, **note, **_plot(frame, variants), width="container", height=HEIGHT),
    )


def _rates(lines: Sequence[Line], ceilings: Ceilings) -> list[tuple[str, float]]:
    """The matrix rates of the dtypes that occur, or all where none of them was measured."""
    used = {line.cell.cell.dtype for line in lines}
    used |= {RELAXED} if "float32" in used else set()
    known = [(rate.dtype, rate.flops_per_second) for rate in ceilings.matrix]
    return [each for each in known if each[0] in used] or known


def _row(line: Line) -> dict[str, Any]:
    row = line.row
    assert row is not None
    assert row.limit is not None
    limit, moved = row.limit, row.limit.bytes_per_second or 1.0
    return {
        "x": rounded(limit.flops_per_second / moved),
        "y": rounded(limit.flops_per_second),
        "variant": one_line(row.variant),
        "point": line.point,
        "rate": f"{'at least ' if limit.at_least else ''}{si(limit.flops_per_second)}FLOP/s",
        "moved": f"{si(moved)}B/s",
        "intensity": f"{limit.flops_per_second / moved:.3g} FLOP/B",
        "share": f"{show.limit(limit)} ({limit.by})",
    }


def _plot(frame: Frame, variants: list[str]) -> Spec:
    x = Ruler(
        log_scale(frame.left, frame.right),
        alt.Axis(
            values=list(log_ticks(frame.left, frame.right, most=8)),
            format="~g",
            title="work per byte read and written, FLOP/B",
        ),
    )
    y = Ruler(
        log_scale(frame.bottom, frame.top),
        alt.Axis(
            values=list(log_ticks(frame.bottom, frame.top, most=7)), labelExpr=RATE, title="work per second"
        ),
    )
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        columns=columns_for(variants, NARROW_LEGEND),
        symbolSize=70,
        symbolOpacity=1,
    )
    shapes = [SHAPES[(n + n // len(SHAPES)) % len(SHAPES)] for n in range(len(variants))]
    colour = alt.Color(field="variant", type="nominal", scale=alt.Scale(domain=variants), legend=legend)
    shape = alt.Shape(
        field="variant", type="nominal", scale=alt.Scale(domain=variants, range=shapes), legend=legend
    )
    name = alt.Text(field="text", type="nominal")
    ends = {"x": x.x("x"), "x2": alt.X2(field="x2"), "y": y.y("y"), "y2": alt.Y2(field="y2")}
    here = {"x": x.x("x"), "y": y.y("y")}
    slope = marks(data=NAMES, where="!datum.level").mark(
        "text", style="note", align="left", dx=SLOPE_DX, dy=SLOPE_DY
    )
    text = alt.Text(field="label", type="nominal")
    return layered(
        marks(data=ROOFS, where="!datum.dashed").mark("rule", style="ceiling").encode(**ends),
        marks(data=ROOFS, where="datum.dashed")
        .mark("rule", style="ceiling", strokeDash=[5, 4])
        .encode(**ends),
        marks(data=NAMES, where="datum.level")
        .mark("text", style="note", align="right", dx=LEVEL_DX, dy=LEVEL_DY)
        .encode(**here, text=name),
        slope.encode(**here, text=name),
        marks()
        .mark("point", filled=True, size=70, opacity=0.9)
        .encode(**here, color=colour, shape=shape, tooltip=TIPS),
        *(
            marks(where=f"datum.side == '{side}'")
            .mark("text", style="label", align=align, dx=dx)
            .encode(**here, text=text, tooltip=TIPS)
            for side, align, dx in (("right", "left", 9), ("left", "right", -9))
        ),
        data=CASES,
    )


def _left_out(lines: Sequence[Line]) -> str:
    """Which cases are not drawn, and why."""
    named = [f"{one_line(line.row.variant)} {line.point}".strip() for line in lines[:3] if line.row]
    more = f" and {len(lines) - 3} more" if len(lines) > 3 else ""
    why = "without counted work, counted traffic or a time"
    return shortened(f"{show.plural(len(lines), 'case')} {why}: {'; '.join(named)}{more}", WIDTH - 40.0)


def _alt(
    suite: SuiteView,
    lines: Sequence[Line],
    left_out: Sequence[Line],
    rates: Rates,
    ceilings: Ceilings,
) -> str:
    shares = [(line, line.row.limit) for line in lines if line.row and line.row.limit]
    best, worst = (pick(shares, key=lambda each: each[1].share) for pick in (max, min))
    told = " and ".join(
        dict.fromkeys(
            f"{one_line(line.row.variant)} {line.point} at {show.limit(limit)}".replace("  ", " ")
            for line, limit in (worst, best)
            if line.row
        )
    )
    tops = ", ".join(f"{name} products {si(rate)}FLOP/s" for name, rate in rates)
    without = f" {show.plural(len(left_out), 'case')} could not be placed." if left_out else ""
    return (
        f"Roofline of {show.plural(len(lines), 'case')} of suite {one_line(suite.name)}. "
        f"Measured ceilings: memory {si(ceilings.copy_memory)}B/s, {tops}. "
        f"Farthest from and nearest to its limit: {told}.{without}"
    )
