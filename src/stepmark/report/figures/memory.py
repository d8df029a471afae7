"""Memory: what a case keeps, what each phase adds to it, and what waits for the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from stepmark.records.memory import MemoryUse
from stepmark.records.run import Judgement
from stepmark.report import format as show
from stepmark.report.figures import readings
from stepmark.report.figures.bars import Lengths, lengths_of
from stepmark.report.figures.figure import Figure, Kind, Spec
from stepmark.report.figures.label_panel import LINES, height_of, label_panel, label_rows, line_channel
from stepmark.report.figures.lettering import distinct, one_line, slug
from stepmark.report.figures.lines import HEIGHT, Line, ending, everyone, label_width
from stepmark.report.figures.pieces import Rows, Ruler, figure_spec, layered, marks, rounded, tips, unchecked
from stepmark.report.figures.theme import SHAPES
from stepmark.report.figures.ticks import BYTES, PERCENT, byte_ticks
from stepmark.report.view import SuiteView, build_view, merge_orders

PIECES = "pieces"
KEPT = ("parameters", "optimizer state", "inputs and buffers")
LABELS, NARROW_LABELS = 240, 104
WIDTHS, NARROW_WIDTH, NUMBER = (250, 290, 170), 150, 62
"""Pixels of the labels, of the panels, and of the numbers behind them."""
BAR = HEIGHT - 8
TIPS = tips(
    [("variant", "variant"), ("point", "at"), ("part", "part"), ("bytes", "size"), ("total", "in all")]
)


class Panel(NamedTuple):
    """What one panel shows of a case."""

    title: str
    parts: Callable[[MemoryUse], Mapping[str, int]]
    stacked: bool

    def total(self, use: MemoryUse) -> int:
        """What the number behind it says."""
        sizes = self.parts(use).values()
        return sum(sizes) if self.stacked else max(sizes, default=0)


def _kept(use: MemoryUse) -> Mapping[str, int]:
    rest = max(0, use.own - use.parameter_bytes - use.optimizer_state)
    return dict(zip(KEPT, (use.parameter_bytes, use.optimizer_state, rest), strict=True))


PANELS = (
    Panel("kept all the time", _kept, stacked=True),
    Panel(
        "peak above that, by phase", lambda use: {each.phase: each.peak for each in use.phases}, stacked=False
    ),
    Panel("saved for backward", lambda use: {"saved for backward": use.saved}, stacked=True),
)


@unchecked()
def memory(judgement: Judgement) -> tuple[Figure, ...]:
    """One for each suite in which memory was counted."""
    shown = [(suite, everyone(suite)) for suite in build_view(judgement).suites]
    shown = [(suite, lines) for suite, lines in shown if any(_use(line) for line in lines)]
    names = distinct([slug("memory", suite.name) for suite, _ in shown])
    return tuple(_figure(suite, lines, name=name) for name, (suite, lines) in zip(names, shown, strict=True))


def _use(line: Line) -> MemoryUse | None:
    return line.row.memory if line.row else None


def _figure(suite: SuiteView, lines: Sequence[Line], *, name: str) -> Figure:
    wide = label_width(lines, most=LABELS)
    lengths = [
        lengths_of(lines, {line.place: float(panel.total(use)) for line in lines if (use := _use(line))})
        for panel in PANELS
    ]
    datasets = {
        LINES: label_rows(lines, width=wide, narrow=NARROW_LABELS, notes=_note),
        PIECES: [row for place in range(len(PANELS)) for row in _rows(lines, place, lengths[place])],
    }
    phases = list(merge_orders([each.phase for each in use.phases] for line in lines if (use := _use(line))))
    names = ([*KEPT], [one_line(phase) for phase in phases], ["saved for backward"])
    drawn, slim = (
        [
            _panel(lines, place, lengths[place], names[place], width=width)
            for place, width in enumerate(widths)
        ]
        for widths in (WIDTHS, (NARROW_WIDTH,) * len(PANELS))
    )
    brief = label_panel(lines, width=NARROW_LABELS, field="brief")
    return Figure(
        kind=Kind.MEMORY,
        name=name,
        title=f"{one_line(suite.name)}: memory of a step",
        alt=_alt(suite, lines),
        reading=readings.MEMORY,
        spec=figure_spec(
            datasets,
            spacing=14,
            hconcat=[label_panel(lines, width=wide), *drawn],
            resolve={"scale": {"color": "independent", "shape": "independent"}},
        ),
        narrow={
            "hconcat": None,
            "vconcat": [{"hconcat": [brief, panel], "spacing": 8} for panel in slim],
        },
    )


def _rows(lines: Sequence[Line], place: int, lengths: Lengths) -> Rows:
    """One row a part of a panel."""
    panel = PANELS[place]
    rows: Rows = []
    for line in lines:
        use = _use(line)
        if use is None or line.row is None:
            continue
        start, total = 0.0, show.size(panel.total(use))
        case = {"variant": one_line(line.row.variant), "point": line.point or "the only cell"}
        for part, size in panel.parts(use).items():
            end = start + lengths.of(line, float(size))
            where: dict[str, Any] = {
                "line": line.place,
                "panel": place,
                "start": rounded(start),
                "end": rounded(end),
            }
            rows.append({**where, **case, "part": one_line(part), "bytes": show.size(size), "total": total})
            start = end if panel.stacked else 0.0
    return rows


def _panel(lines: Sequence[Line], place: int, lengths: Lengths, names: list[str], *, width: int) -> Spec:
    panel, y = PANELS[place], line_channel(lines)
    ruler = Ruler(
        alt.Scale(domain=[0.0, lengths.longest * 1.03], range=[0, width - NUMBER], nice=False),
        _axis(lengths, most=4 if width > NARROW_WIDTH else 3),
    )
    legend: Any = None
    if len(names) > 1:
        legend = alt.Legend(title=None, orient="bottom", direction="horizontal", columns=2, symbolSize=60)
    colour = alt.Color(field="part", type="nominal", scale=alt.Scale(domain=names), legend=legend)
    shapes = alt.Scale(domain=names, range=[SHAPES[n % len(SHAPES)] for n in range(len(names))])
    shape = alt.Shape(field="part", type="nominal", scale=shapes, legend=legend)
    bar = (
        marks()
        .mark("bar", height=BAR)
        .encode(x=ruler.x("start"), x2=alt.X2(field="end"), y=y, color=colour, tooltip=TIPS)
    )
    dot = (
        marks()
        .mark("point", size=56, opacity=0.9, strokeWidth=1.8)
        .encode(x=ruler.x("end"), y=y, color=colour, shape=shape, tooltip=TIPS)
    )
    number = marks(data=LINES, where=f"isValid(datum.total_{place})").mark(
        "text", style="label", align="right"
    )
    trouble = marks(data=LINES, where="isValid(datum.trouble)").mark(
        "text", style="trouble", align="left", limit=width
    )
    layers = [bar if panel.stacked else dot]
    layers.append(
        number.encode(x=alt.value(width - 2), y=y, text=alt.Text(field=f"total_{place}", type="nominal"))
    )
    if place == 0:
        layers.append(trouble.encode(x=alt.value(4), y=y, text=alt.Text(field="trouble", type="nominal")))
    return layered(
        *layers,
        data=PIECES,
        transform=[{"filter": f"datum.panel == {place}"}],
        width=width,
        height=height_of(lines),
        title=panel.title,
    )


def _axis(lengths: Lengths, *, most: int) -> alt.Axis:
    if lengths.relative:
        return alt.Axis(labelExpr=PERCENT, title="of the most in the cell", tickCount=most)
    return alt.Axis(values=list(byte_ticks(lengths.longest, most=most)), labelExpr=BYTES, title=None)


def _note(line: Line) -> dict[str, Any]:
    use = _use(line)
    if use is not None:
        return {f"total_{place}": show.size(panel.total(use)) for place, panel in enumerate(PANELS)}
    if line.row is None:
        return {}
    return {"trouble": ending(line.row) if line.row.failure or not line.row.outcome else "not inspected"}


def _alt(suite: SuiteView, lines: Sequence[Line]) -> str:
    known = [(line, use) for line in lines if (use := _use(line)) and line.row]
    most = max(known, key=lambda each: each[1].peak)
    least = min(known, key=lambda each: each[1].peak)
    told = dict.fromkeys(
        f"{one_line(line.row.variant)}{_at(line)} with {show.size(use.peak)} "
        f"(keeps {show.size(use.own)}, adds up to {show.size(use.above_start)}, "
        f"saves {show.size(use.saved)} for backward)"
        for line, use in (least, most)
        if line.row
    )
    return (
        f"Memory of {show.plural(len(known), 'case')} of suite {one_line(suite.name)}, from "
        f"{' to '.join(told)}."
    )


def _at(line: Line) -> str:
    point = line.point
    return f" at {one_line(point)}" if point else ""
