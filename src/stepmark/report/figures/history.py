"""The history of a case: its level run by run, the stretches without a change, and where it changed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import altair as alt

from stepmark.records.estimate import Estimate
from stepmark.records.history import CaseHistory, HistoryPoint, Series
from stepmark.records.verdict import VerdictKind
from stepmark.report import format as show
from stepmark.report.figures import readings
from stepmark.report.figures.figure import Figure, Kind, Spec
from stepmark.report.figures.lettering import one_line, shortened, slug
from stepmark.report.figures.pieces import Rows, Ruler, figure_spec, layered, marks, rounded, tips, unchecked
from stepmark.report.figures.theme import SHAPES, VERDICT_LETTERS
from stepmark.report.figures.ticks import SECONDS

POINTS, STRETCHES, CHANGES = "points", "stretches", "changes"
MOST_POINTS = 1000
"""Beyond it runs between changes are thinned evenly; stretches and changes rest on all of them."""
MOST_LETTERS = 80
MOST_LABELS = 8
HEIGHT, FREE = 300, 0.14
"""Pixels, and the share of the height above all points in which changes are named."""
LATE = 0.85
"""A change in the last part of the axis is named on its left."""
COMMIT = re.compile(r"[0-9a-f]{7,40}")
SHOWN_COMMIT = 7
TIPS = tips(
    [
        *(("run", "run"), ("started", "started"), ("commit", "commit"), ("branch", "branch")),
        *(("machine", "machine"), ("time", "time"), ("ratio", "time / baseline"), ("verdict", "verdict")),
    ]
)


@unchecked()
def history(case: CaseHistory) -> Figure:
    """Of one case and phase."""
    places = {point.run: place for place, point in enumerate(case.points)}
    named = series_names(case.series)
    datasets = {
        POINTS: [_point(point, places[point.run], named) for point in thinned(case)],
        STRETCHES: _stretches(case, places, named),
        CHANGES: _changes(case, places),
    }
    return Figure(
        kind=Kind.HISTORY,
        name=f"{slug('history', case.phase)}-{crc32(case.case.encode()):08x}",
        title=one_line(f"{case.case}: {case.phase}, run after run"),
        alt=_alt(case),
        reading=readings.HISTORY,
        spec=figure_spec(datasets, **_plot(case, list(named.values())), width="container", height=HEIGHT),
    )


def series_names(series: Sequence[Series]) -> dict[str, str]:
    """By key: the machine, and the facts in which a series differs from the others."""
    names: dict[str, str] = {}
    for each in series:
        facts = dict(each.facts)
        parts = [each.machine, *(f"{name} {facts[name]}" for name in each.differs if name in facts)]
        name = shortened(", ".join(dict.fromkeys(parts)), 240.0)
        taken = sum(name == other or other.startswith(f"{name} (") for other in names.values())
        names[each.key] = f"{name} ({taken + 1})" if taken else name
    return names


def thinned(case: CaseHistory) -> list[HistoryPoint]:
    """All points, or every so-manieth and those at the ends of stretches."""
    stride = -(-len(case.points) // MOST_POINTS)
    ends = {run for each in case.segments for run in (each.first_run, each.last_run)}
    return [point for n, point in enumerate(case.points) if n % stride == 0 or point.run in ends]


def _point(point: HistoryPoint, place: int, named: Mapping[str, str]) -> dict[str, Any]:
    level, unsure = point.level, (VerdictKind.INCONCLUSIVE, VerdictKind.INVALID)
    return {
        "place": place,
        "seconds": rounded(level.point),
        "low": rounded(level.low),
        "high": rounded(level.high),
        "series": named.get(point.conditions, one_line(point.machine)),
        "run": one_line(point.run),
        "started": show.moment(point.started),
        "commit": (one_line(point.commit) if point.commit else "unknown")
        + (", changed" if point.dirty else ""),
        "branch": one_line(point.branch or "unknown"),
        "machine": one_line(point.machine),
        "time": f"{show.seconds(level)} {show.plus_minus(level)}",
        **({"ratio": f"{show.ratio(point.ratio)} {show.interval(point.ratio)}"} if point.ratio else {}),
        **({"verdict": point.verdict.value} if point.verdict else {}),
        **({"letter": VERDICT_LETTERS[point.verdict]} if point.verdict in unsure and point.verdict else {}),
    }


def _stretches(case: CaseHistory, places: Mapping[str, int], named: Mapping[str, str]) -> Rows:
    return [
        {
            "from": _place(each.first_run, each.begin, case, places) - 0.4,
            "to": _place(each.last_run, each.end, case, places) + 0.4,
            "seconds": rounded(each.mean.point),
            "low": rounded(each.mean.low),
            "high": rounded(each.mean.high),
            "series": named.get(each.series, ""),
            "time": f"mean of {show.plural(each.mean.num_launches, 'run')}: {show.seconds(each.mean)}",
        }
        for each in case.segments
    ]


def _changes(case: CaseHistory, places: Mapping[str, int]) -> Rows:
    """Named by how much, and by the commit of the first run at the new level."""
    commits = {point.run: point.commit for point in case.points}
    return [
        {
            "place": _place(each.run, each.at, case, places) - 0.5,
            "nth": n,
            "late": _place(each.run, each.at, case, places) > LATE * len(case.points),
            "change": change_text(each.change),
            "told": f"{change_text(each.change)} {show.interval(each.change)} from run {one_line(each.run)}"
            + (f", commit {one_line(commit)[:SHOWN_COMMIT]}" if (commit := commits.get(each.run)) else ""),
        }
        for n, each in enumerate(case.changes)
    ]


def _place(run: str, at: float, case: CaseHistory, places: Mapping[str, int]) -> int:
    if run in places:
        return places[run]
    return next((n for n, point in enumerate(case.points) if point.started >= at), len(case.points) - 1)


def change_text(change: Estimate) -> str:
    """`+5.3 %`, or as a factor where it is large."""
    if change.point >= 2.0 or change.point <= 0.5:
        return f"x{change.point:.3g}"
    return f"{100.0 * (change.point - 1.0):+.2g}{show.NBSP}%".replace("-", "−")


def _plot(case: CaseHistory, names: list[str]) -> Spec:
    x, y = _across(case), _upwards(case)
    legend: Any = None
    if len(names) > 1:
        legend = alt.Legend(title=None, orient="top", direction="vertical", symbolSize=70, symbolOpacity=1)
    shapes = alt.Scale(domain=names, range=[SHAPES[n % len(SHAPES)] for n in range(len(names))])
    colour = alt.Color(field="series", type="nominal", scale=alt.Scale(domain=names), legend=legend)
    shape = alt.Shape(field="series", type="nominal", scale=shapes, legend=legend)
    at = {"x": x.x("place"), "y": y.y("seconds"), "color": colour}
    span = {"x": x.x("from"), "x2": alt.X2(field="to")}
    ends = {"y": y.y("low"), "y2": alt.Y2(field="high")}
    few = len(case.points) <= MOST_LETTERS
    dot = marks().mark("point", filled=True, size=60 if few else 20, opacity=0.95 if few else 0.5)
    unsure = marks(where="isValid(datum.letter)").mark("text", style="label", fontWeight="bold", dy=-11)
    level = marks(data=STRETCHES).mark("rule", strokeWidth=2.4)
    return layered(
        marks(data=STRETCHES).mark("rect", opacity=0.18).encode(**span, **ends, color=colour),
        marks().mark("rule", opacity=0.55 if few else 0.2).encode(x=x.x("place"), **ends, color=colour),
        dot.encode(**at, shape=shape, tooltip=TIPS),
        level.encode(**span, y=y.y("seconds"), color=colour, tooltip=tips([("time", "level")])),
        *([unsure.encode(**at, text=alt.Text(field="letter", type="nominal"))] if few else []),
        *_change_marks(x),
        data=POINTS,
    )


def _change_marks(x: Ruler) -> list[Spec]:
    """A line at each change, named on the side that has room, every second one a line lower."""
    said = {"x": x.x("place"), "tooltip": tips([("told", "change")])}
    text = alt.Text(field="change", type="nominal")
    return [
        marks(data=CHANGES).mark("rule", style="guide", strokeDash=[4, 3]).encode(**said),
        *(
            marks(data=CHANGES, where=f"datum.nth % 2 == {turn} && datum.late == {json.dumps(late)}")
            .mark("text", style="heading", align="right" if late else "left", dx=dx, dy=10 + 14 * turn)
            .encode(**said, y=alt.value(0), text=text)
            for turn in (0, 1)
            for late, dx in ((False, 4), (True, -4))
        ),
    ]


def _across(case: CaseHistory) -> Ruler:
    """One step a run; the labels are dates and commits, both of a form that an expression may hold."""
    last = max(len(case.points) - 1, 0)
    num = min(MOST_LABELS, last + 1)
    ticks = sorted({round(n * last / max(num - 1, 1)) for n in range(num)})
    labels = [_label(case.points[n]) for n in ticks] if case.points else []
    axis = alt.Axis(
        values=ticks,
        labelExpr=f"{json.dumps(labels, ensure_ascii=True)}[indexof({json.dumps(ticks)}, datum.value)]",
        title="runs, the oldest first",
        grid=False,
        labelFlush=False,
    )
    return Ruler(alt.Scale(domain=[-0.7, last + 0.7], nice=False, zero=False), axis)


def _label(point: HistoryPoint) -> list[str]:
    commit = point.commit if point.commit and COMMIT.fullmatch(point.commit) else None
    return [show.moment(point.started)[:10], *([commit[:SHOWN_COMMIT]] if commit else [])]


def _upwards(case: CaseHistory) -> Ruler:
    """Around the levels: a change of a few per cent must be seen, so the axis does not begin at zero."""
    levels = [point.level.point for point in case.points] or [1e-3]
    ends = [end for point in case.points for end in (point.level.low, point.level.high)]
    low, high = min(levels), max(levels)
    room = max(0.5 * (high - low), 0.05 * high)
    low, high = max(low - room, min([low, *ends])), min(high + room, max([high, *ends]))
    gap = 0.05 * (high - low) or 0.05 * high
    low, high = max(0.0, low - gap), high + gap + FREE * (high - low)
    axis = alt.Axis(labelExpr=SECONDS, title=f"time of an iteration, {one_line(case.phase)}", tickCount=6)
    return Ruler(alt.Scale(domain=[low, high], nice=False, zero=False, clamp=True), axis)


def _alt(case: CaseHistory) -> str:
    if not case.points:
        return f"No finished run has measured {one_line(case.case)}."
    newest = case.points[-1]
    told = "; ".join(
        f"{change_text(each.change)} with run {one_line(each.run)}" for each in case.changes[-3:]
    )
    earlier = f", and {len(case.changes) - 3} before" if len(case.changes) > 3 else ""
    changes = (
        f"{show.plural(len(case.changes), 'change point')}: {told}{earlier}" if told else "no change point"
    )
    several = f" Conditions differ: {len(case.series)} series." if len(case.series) > 1 else ""
    return (
        f"{one_line(case.phase)} of {one_line(case.case)} over {show.plural(len(case.points), 'run')}, "
        f"the newest {show.seconds(newest.level)} {show.plus_minus(newest.level)}; {changes}.{several}"
    )
