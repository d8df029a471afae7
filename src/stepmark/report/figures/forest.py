"""The forest plot: every ratio with its interval, case by case and phase by phase, and the margin."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt

from stepmark.records.estimate import Estimate
from stepmark.records.run import Judgement
from stepmark.records.verdict import VerdictKind
from stepmark.report import format as show
from stepmark.report.figures import readings
from stepmark.report.figures.figure import Figure, Kind, Spec
from stepmark.report.figures.label_panel import LINES, height_of, label_panel, label_rows, line_channel
from stepmark.report.figures.lettering import distinct, one_line, shortened, slug, width_of
from stepmark.report.figures.lines import Line, contenders, ending, label_width
from stepmark.report.figures.pieces import (
    Rows,
    Ruler,
    by_name,
    figure_spec,
    layered,
    marks,
    rounded,
    tips,
    unchecked,
)
from stepmark.report.figures.ratio_axis import RatioAxis, ratio_axis
from stepmark.report.figures.theme import VERDICT_COLOURS, VERDICT_LETTERS, VERDICT_SHAPES
from stepmark.report.view import PhaseView, RowView, SuiteView, build_view, merge_orders

LABELS, MAIN, SIDE = 236, 258, 84
NARROW_LABELS, NARROW_MAIN = 112, 196
"""Pixels of the columns, on a wide and on a narrow page."""
NUMBERS, VERDICT = 136, 70
"""Pixels: of a ratio with its interval, at least, and of a verdict's word behind it."""
WIDE_DIGITS = 1.12
"""How much wider some fonts draw digits than letters of average width."""
LETTER = 16
"""Pixels at the right of a panel that its letters have for themselves."""
RATIOS, ONE = "ratios", "one"
"""Datasets: one row a case and phase; and a single row, for what is drawn once."""
TIPS = tips(
    [
        *(("variant", "variant"), ("point", "at"), ("phase", "phase"), ("time", "time")),
        *(("text", "time / baseline"), ("kind", "verdict")),
    ]
)
KINDS = [kind.value for kind in VerdictKind]
# Marks alone are coloured: letters in these colours would have a contrast of 4 to 1, and text needs 4.5.
COLOUR = alt.Color(**by_name("kind", KINDS, [VERDICT_COLOURS[kind] for kind in VerdictKind]))
SHAPE = alt.Shape(**by_name("kind", KINDS, [VERDICT_SHAPES[kind] for kind in VerdictKind]))
BESIDE, BELOW = 4, 7
"""Phases beside the primary one, and in each further row of panels."""


@unchecked()
def forest(judgement: Judgement) -> tuple[Figure, ...]:
    """One for each suite in which something is compared."""
    view, margin = build_view(judgement), judgement.run.policy.margin
    shown = [(suite, lines) for suite in view.suites if (lines := contenders(suite))]
    names = distinct([slug("forest", suite.name) for suite, _ in shown])
    return tuple(
        _figure(suite, lines, name=name, margin=margin)
        for name, (suite, lines) in zip(names, shown, strict=True)
    )


def _figure(suite: SuiteView, lines: Sequence[Line], *, name: str, margin: float) -> Figure:
    phases = _phases(lines, suite)
    axes = [
        ratio_axis(_ratios(lines, phase), margin=margin, most_ticks=3 if place else 5)
        for place, phase in enumerate(phases)
    ]
    wide = label_width(lines, most=LABELS)
    datasets: dict[str, Rows] = {
        LINES: label_rows(lines, width=wide, narrow=NARROW_LABELS, notes=_note),
        RATIOS: _rows(lines, phases, axes),
        ONE: [{}],
    }
    panels = [
        _panel(place, phase, axis, margin=margin, width=SIDE if place else MAIN, lines=lines)
        for place, (phase, axis) in enumerate(zip(phases, axes, strict=True))
    ]
    labels = label_panel(lines, width=wide)
    brief = label_panel(lines, width=NARROW_LABELS, field="brief")
    first = [labels, panels[0], _values(lines), *panels[1 : 1 + BESIDE]]
    rest = panels[1 + BESIDE :]
    more = [[labels, *rest[start : start + BELOW]] for start in range(0, len(rest), BELOW)]
    return Figure(
        kind=Kind.FOREST,
        name=name,
        title=f"{one_line(suite.name)}: time of {phases[0]} relative to {_baseline(suite)}",
        alt=_alt(suite, lines, phases[0]),
        reading=readings.FOREST,
        spec=figure_spec(datasets, spacing=14, vconcat=[_beside(row) for row in (first, *more)]),
        narrow={
            "vconcat": [
                _beside(
                    [
                        brief,
                        _panel(place, phase, axis, margin=margin, width=NARROW_MAIN, lines=lines),
                    ]
                )
                for place, (phase, axis) in enumerate(zip(phases, axes, strict=True))
            ]
        },
    )


def _beside(panels: list[Spec]) -> Spec:
    return {"hconcat": panels, "spacing": 8} if len(panels) > 1 else panels[0]


def _baseline(suite: SuiteView) -> str:
    names = dict.fromkeys(row.variant for cell in suite.cells for row in cell.rows if row.baseline)
    return one_line(", ".join(names)) or "the baseline"


def _phases(lines: Sequence[Line], suite: SuiteView) -> list[str]:
    """The primary first; phases that no case has a ratio of are left out."""
    rows = [line.row for line in lines if line.row]
    primary = suite.primary or next((row.primary.name for row in rows if row.primary), "step")
    others = merge_orders([p.name for p in row.phases if p.ratio or p.kind] for row in rows)
    return [primary, *(name for name in others if name != primary)]


def _named(row: RowView | None, phase: str) -> PhaseView | None:
    """What is known of a phase of a case."""
    views = (row.primary, *row.phases) if row else ()
    return next((each for each in views if each and each.name == phase), None)


def _ratios(lines: Sequence[Line], phase: str) -> list[Estimate]:
    views = [_named(line.row, phase) for line in lines]
    return [view.ratio for view in views if view and view.ratio]


def _rows(lines: Sequence[Line], phases: list[str], axes: list[RatioAxis]) -> Rows:
    """One row a case and phase that has a verdict."""
    rows: Rows = []
    for line in lines:
        if line.row is None:
            continue
        for place, (phase, axis) in enumerate(zip(phases, axes, strict=True)):
            view = _named(line.row, phase)
            kind = view.kind if view else None if place else line.row.kind
            if kind:
                case = {
                    "variant": one_line(line.row.variant),
                    "point": line.point or "the only cell",
                }
                mark = {
                    "line": line.place,
                    "panel": place,
                    "kind": kind.value,
                    "letter": VERDICT_LETTERS[kind],
                }
                rows.append(mark | case | {"phase": one_line(phase)} | _numbers(view, axis))
    return rows


def _numbers(view: PhaseView | None, axis: RatioAxis) -> dict[str, Any]:
    """Of an interval what fits on the axis, and whether it goes on."""
    if view is None:
        return {}
    time, ratio = {"time": show.seconds(view.time)}, view.ratio
    if ratio is None:
        return time
    return {
        **time,
        "ratio": rounded(ratio.point),
        "low": rounded(axis.cut(ratio.low)),
        "high": rounded(axis.cut(ratio.high)),
        "text": f"{show.ratio(ratio)} {show.interval(ratio)}",
        **({"beyond_low": True} if ratio.low < axis.low else {}),
        **({"beyond_high": True} if ratio.high > axis.high else {}),
    }


def _note(line: Line) -> dict[str, Any]:
    """What stands at the right of a line."""
    if line.row is None:
        return {}
    row, view = line.row, line.row.primary
    kind = row.kind
    numbers = f"{show.ratio(view.ratio)} {show.interval(view.ratio)}" if view and view.ratio else ""
    verdict = f"{VERDICT_LETTERS[kind]}  {kind.value}" if kind and not row.failure and row.outcome else ""
    found = {"numbers": numbers, "verdict": verdict, "kind": kind.value if kind else ""}
    return found | ({"trouble": ending(row)} if row.failure or not row.outcome else {})


def _panel(
    place: int, phase: str, axis: RatioAxis, *, margin: float, width: float, lines: Sequence[Line]
) -> Spec:
    """One phase: the margin, the intervals, the marks and their letters."""
    y = line_channel(lines)
    ruler = Ruler(
        alt.Scale(type="log", domain=[axis.low, axis.high], range=[0, width - LETTER], nice=False),
        alt.Axis(values=list(axis.ticks), format="~g", title=None if place else "time / baseline"),
    )
    height = height_of(lines)
    whisker = marks(where="isValid(datum.ratio)").mark("rule", strokeWidth=1.6)
    point = marks(where="isValid(datum.ratio)").mark("point", filled=True, size=64, opacity=1.0)
    letter = marks().mark("text", style="label", fontWeight="bold", align="right")
    return layered(
        marks(data=ONE)
        .mark("rect", style="band")
        .encode(
            x=ruler.x_at(1.0 / (1.0 + margin)),
            x2=alt.X2Datum(1.0 + margin),
            y=alt.value(0),
            y2=alt.value(height),
        ),
        marks(data=ONE)
        .mark("rule", style="guide")
        .encode(x=ruler.x_at(1.0), y=alt.value(0), y2=alt.value(height)),
        whisker.encode(x=ruler.x("low"), x2=alt.X2(field="high"), y=y, color=COLOUR),
        _arrow("low", "◂", y=y, ruler=ruler),
        _arrow("high", "▸", y=y, ruler=ruler),
        point.encode(x=ruler.x("ratio"), y=y, color=COLOUR, shape=SHAPE, tooltip=TIPS),
        letter.encode(
            x=alt.value(width - 3), y=y, text=alt.Text(field="letter", type="nominal"), tooltip=TIPS
        ),
        data=RATIOS,
        transform=[{"filter": f"datum.panel == {place}"}],
        width=width,
        height=height,
        title={"text": shortened(phase, width, size=12.0), "anchor": "start"},
    )


def _arrow(end: str, sign: str, *, y: Any, ruler: Ruler) -> Spec:
    """Where an interval goes on beyond the plot."""
    mark = marks(where=f"datum.beyond_{end}").mark("text", text=sign, fontSize=13, baseline="middle")
    return mark.encode(x=ruler.x(end), y=y, color=COLOUR)


def _values(lines: Sequence[Line]) -> Spec:
    """Numbers and verdicts in words, or why there are none."""
    y = line_channel(lines)
    longest = max((width_of(_note(line).get("numbers", "")) for line in lines), default=0.0)
    numbers_width = max(NUMBERS, math.ceil(longest * WIDE_DIGITS) + LETTER)
    width = numbers_width + VERDICT
    numbers = marks(where="!datum.heading").mark("text", style="label", align="left")
    verdict = marks(where="!datum.heading").mark("text", style="label", align="left", fontWeight="bold")
    trouble = marks(where="isValid(datum.trouble)").mark(
        "text", style="trouble", align="left", limit=width - 8
    )
    return layered(
        numbers.encode(x=alt.value(4), y=y, text=alt.Text(field="numbers", type="nominal")),
        verdict.encode(x=alt.value(numbers_width), y=y, text=alt.Text(field="verdict", type="nominal")),
        trouble.encode(
            x=alt.value(4),
            y=y,
            text=alt.Text(field="trouble", type="nominal"),
            tooltip=tips([("trouble", "not measured")]),
        ),
        data=LINES,
        width=width,
        height=height_of(lines),
        view={"stroke": None},
    )


def _alt(suite: SuiteView, lines: Sequence[Line], phase: str) -> str:
    rows = [line.row for line in lines if line.row]
    kinds = Counter(row.kind for row in rows if row.kind)
    told = ", ".join(f"{kinds[kind]} {kind.value}" for kind in VerdictKind if kinds[kind])
    known = [
        (line, line.row.primary.ratio)
        for line in lines
        if line.row and line.row.primary and line.row.primary.ratio
    ]
    compared = f"{show.plural(len(rows), 'comparison')} of {phase}"
    text = f"Forest plot of {compared} in suite {one_line(suite.name)}: {told}."
    if not known:
        return f"{text} No ratio could be measured."
    ends = [pick(known, key=lambda each: each[1].point) for pick in (min, max)]
    said = dict.fromkeys(
        f"{one_line(line.row.variant)}{_at(line)} {show.ratio(ratio)} {show.interval(ratio)}"
        for line, ratio in ends
        if line.row
    )
    return f"{text} {'From' if len(said) > 1 else 'The ratio is'} {' to '.join(said)}."


def _at(line: Line) -> str:
    point = line.point
    return f" at {one_line(point)}" if point else ""
