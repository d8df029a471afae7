"""The charts of docs/gpu.md from the data beside this file; `python -m benchmarks.h200.charts` draws them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import altair as alt

from benchmarks.h200 import page_fragmented as fragmented
from benchmarks.h200 import page_switchback as switchback
from benchmarks.h200 import page_transformer as transformer
from benchmarks.h200 import page_verdicts as verdicts

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
INK, PALE = "#222222", "#8a8a8a"
BLUE, ORANGE, GREEN = "#2166ac", "#d95f02", "#1b7837"
MARGIN = 0.01
"""Within it two times are the same to stepmark, unless told otherwise."""


def fragmented_cells() -> alt.TopLevelMixin:
    """Speed-up by fragments, a panel for n and rows."""
    points = []
    for dtype in fragmented.ITEMS:
        for (n, batch, number), row in fragmented.cells(dtype).items():
            place = {"n": f"n = {n}", "rows": f"{batch} row{'s' * (batch > 1)}", "fragments": str(number)}
            points.append({**place, "series": dtype, "speed-up": row["graph_ratio"]})
            if dtype == "float32":
                points.append({**place, "series": "theory", "speed-up": row["theory"]})
                if asked := fragmented.GRAPH_TARGETS.get((n, batch, number)):
                    points.append({**place, "series": "asked", "speed-up": asked})
    names = ["float32", "bfloat16", "theory", "asked"]
    colours = alt.Scale(domain=names, range=[BLUE, ORANGE, PALE, INK])
    x = alt.X("fragments:O", title="fragments", sort=["2", "8", "32", "128"], axis=alt.Axis(labelAngle=0))
    ticks = alt.Axis(values=[0.5, 1, 2, 4, 8, 16], format="~g", labelExpr="datum.value + 'x'")
    scale = alt.Scale(type="log", domain=[0.45, 20], nice=False)
    y = alt.Y("speed-up:Q", title="nn.Linear's time / ours", axis=ticks, scale=scale)
    one = alt.Y(datum=1, type="quantitative", title="nn.Linear's time / ours", axis=ticks, scale=scale)
    base, series = alt.Chart().encode(x, y), alt.datum.series
    key = alt.Legend(title=None, orient="top", symbolType="stroke", symbolStrokeWidth=3)
    legend = alt.Color("series:N", scale=colours, legend=key)
    theory = base.transform_filter(series == "theory").mark_line(strokeDash=[4, 3], strokeWidth=1.4)
    measured = base.transform_filter((series == "float32") | (series == "bfloat16"))
    layers = alt.layer(
        alt.Chart().mark_rule(color=INK, strokeWidth=0.8).encode(y=one),
        theory.encode(legend),
        measured.mark_line(point=alt.OverlayMarkDef(size=36, filled=True), strokeWidth=1.8).encode(legend),
        base.transform_filter(series == "asked").mark_tick(thickness=2.5, width=22).encode(legend),
        data=alt.InlineData(values=points),
    ).properties(width=165, height=130)
    return layers.facet(
        column=alt.Column("rows:N", sort=["1 row", "8 rows", "16 rows"], title=None),
        row=alt.Row("n:N", sort=["n = 2048", "n = 4096", "n = 8192"], title=None),
        title=alt.Title(
            "FragmentedLinear against nn.Linear, CUDA-graph replay, warm L2, H200",
            subtitle="above 1x ours is faster; theory, by bytes alone: 1 / (chosen share + 1/16)",
        ),
    )


def switchback_shapes() -> alt.TopLevelMixin:
    """Speed-up of `auto` by work, with what each shape could reach at most."""
    points = []
    for row in switchback.measured_shapes():
        is_own = row["auto chose"]["vector"] == "int8"
        own = "int8, large layers" if switchback.is_large(row) else "int8"
        work = 6.0 * math.prod(row["shape"]) / 1e12
        found = {"chose": own if is_own else "16 bits: identical code", "ceiling": row["ceiling"]}
        points.append({"work": work, "speed-up": row["speed-up"]["auto vector"], **found})
    names = ["int8", "int8, large layers", "16 bits: identical code"]
    marks = alt.Scale(domain=names, range=[BLUE, GREEN, ORANGE])
    shapes = alt.Scale(domain=names, range=["circle", "diamond", "triangle-up"])
    legend = alt.Legend(title=None, orient="top", labelLimit=300)
    values = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
    across: dict[str, Any] = {
        "title": "work of the three products, 10¹² operations",
        "scale": alt.Scale(type="log", domain=[0.04, 130], nice=False),
        "axis": alt.Axis(values=values, format="~g", grid=False),
    }
    up: dict[str, Any] = {
        "title": "16-bit time / ours",
        "scale": alt.Scale(domain=[0.9, 1.65], nice=False, zero=False),
        "axis": alt.Axis(format=".1f", values=[0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]),
    }
    chart = alt.Chart(alt.InlineData(values=points))
    dots = chart.mark_point(size=34, filled=True, opacity=0.9).encode(
        alt.X("work:Q", **across),
        alt.Y("speed-up:Q", **up),
        color=alt.Color("chose:N", scale=marks, legend=legend),
        shape=alt.Shape("chose:N", scale=shapes, legend=legend),
    )
    ceilings = chart.mark_tick(color="#a0a0a0", thickness=1.2, width=9, orient="horizontal").encode(
        alt.X("work:Q", **across), alt.Y("ceiling:Q", **up)
    )
    least = min(point["work"] for point in points if point["chose"] == "int8, large layers")
    lines = [(0.04, 1.0, INK, [1, 0]), (0.04, switchback.SLOWEST, INK, [3, 3])]
    rules = [
        alt.Chart(alt.InlineData(values=[{"from": start, "to": 130, "at": at}]))
        .mark_rule(color=colour, strokeDash=dash, strokeWidth=1)
        .encode(alt.X("from:Q", **across), x2="to:Q", y=alt.Y("at:Q", **up))
        for start, at, colour, dash in [*lines, (least, switchback.LARGE_MEAN, GREEN, [5, 3])]
    ]
    title = alt.Title(
        f"SwitchBack, precision chosen by measurement: {len(points)} of 142 published shapes, float16, H200",
        subtitle=[
            "forward, both gradients and all quantisation; grey: the ceiling of each shape",
            "dashed: what was asked, 0.97x of every shape and 1.40x of every large layer",
        ],
    )
    return alt.layer(*rules, ceilings, dots).properties(width=620, height=300, title=title)


def identical_code() -> alt.TopLevelMixin:
    """Estimates with intervals: copies of the baseline, and code slowed by a dose."""
    copies, slowed, order = _estimates()
    kinds = ["EQUIVALENT", "INCONCLUSIVE", "SLOWER"]
    colour = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=kinds, range=[BLUE, PALE, ORANGE]),
        legend=alt.Legend(title=None, orient="top"),
    )
    y = alt.Y("workload:N", sort=order, title=None, axis=alt.Axis(grid=True, labelLimit=220))
    left = _panel(
        copies, y, colour, domain=(0.87, 1.13), title="8 copies of the baseline: identical code", width=400
    )
    bare = alt.Y("workload:N", sort=order, title=None, axis=alt.Axis(labels=False, ticks=False, grid=True))
    right = _panel(
        slowed, bare, colour, domain=(0.985, 1.045), title="slowed by 2 %; black: the dose as counted"
    )
    title = alt.Title(
        "What stepmark says of identical and of slowed code, H200",
        subtitle="time / baseline with 95 % intervals; shaded: the margin of 1 %",
    )
    return alt.hconcat(left, right, title=title, spacing=14)


def _estimates() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    copies, slowed, order = [], [], []
    doses = {row["workload"]: row for row in verdicts.of_kind("slowed")}
    for row in sorted(verdicts.of_kind("identical"), key=lambda row: float(row["levels"]["base"]["us"])):
        us = row["levels"]["base"]["us"]
        name = f"{row['workload']}, {us:.0f} µs"
        order.append(name)
        for place, one in enumerate(row["verdicts"].values()):
            copies.append({"workload": name, "place": place, **_interval(one)})
        if dose := doses.get(row["workload"]):
            found = _interval(dose["verdicts"]["slowed"])
            slowed.append({"workload": name, "place": 3.5, "dose": 1 + dose["dose"]["counted"], **found})
    return copies, slowed, order


def _interval(one: dict[str, Any]) -> dict[str, Any]:
    point, low, high = one["ratio"]
    return {"ratio": point, "low": low, "high": high, "verdict": one["kind"]}


def _panel(
    values: list[dict[str, Any]],
    y: alt.Y,
    colour: alt.Color,
    *,
    domain: tuple[float, float],
    title: str,
    width: int = 300,
) -> alt.LayerChart | alt.FacetChart:
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    axis: dict[str, Any] = {
        "title": "time / baseline",
        "scale": scale,
        "axis": alt.Axis(format=".2f", grid=False),
    }
    offset = alt.YOffset("place:Q", scale=alt.Scale(domain=[-1, 8]))
    margin = alt.InlineData(values=[{"low": 1 - MARGIN, "high": 1 + MARGIN, "one": 1}])
    low = alt.X("low:Q", **axis)
    chart = alt.Chart(alt.InlineData(values=values)).encode(y=y, yOffset=offset, color=colour)
    doses = [value for value in values if "dose" in value]
    counted = alt.Chart(alt.InlineData(values=doses)).mark_tick(color=INK, thickness=2, height=18)
    return alt.layer(
        alt.Chart(margin).mark_rect(color="#e6e6e6").encode(low, x2="high:Q"),
        alt.Chart(margin).mark_rule(color=INK, strokeWidth=0.8).encode(alt.X("one:Q", **axis)),
        counted.encode(alt.X("dose:Q", **axis), y=y),
        chart.mark_rule(strokeWidth=1.3).encode(low, x2="high:Q"),
        chart.mark_circle(size=16, opacity=1).encode(alt.X("ratio:Q", **axis)),
    ).properties(width=width, height=alt.Step(34), title=alt.Title(title, fontSize=11, fontWeight="normal"))


def transformer_steps() -> alt.TopLevelMixin:
    """Speed-up over plain layers called from Python, a line for a size and a length."""
    points, order = _speed_ups()
    layers, calls = [*transformer.EAGER], ["called from Python", "as one CUDA graph"]
    legend = alt.Legend(title=None, orient="top", symbolSize=80, labelLimit=300)
    colours = alt.Scale(domain=layers, range=[PALE, BLUE, ORANGE])
    shapes = alt.Scale(domain=calls, range=["circle", "diamond"])
    ticks = alt.Axis(values=[1, 1.5, 2, 3, 4, 6, 8, 10], labelExpr="datum.label + 'x'", format="~g")
    across: dict[str, Any] = {
        "title": "plain step's time / this, logarithmic",
        "scale": alt.Scale(type="log", domain=[0.95, 11.5], nice=False),
        "axis": ticks,
    }
    y = alt.Y("cell:N", sort=order, title=None, axis=alt.Axis(grid=True, labelLimit=260))
    dots = (
        alt.Chart(alt.InlineData(values=points))
        .mark_point(size=70, filled=True, opacity=1)
        .encode(
            alt.X("speed-up:Q", **across),
            y,
            yOffset=alt.YOffset("place:Q", scale=alt.Scale(domain=[-1, len(layers)])),
            color=alt.Color("layers:N", scale=colours, legend=legend),
            shape=alt.Shape("call:N", scale=shapes, legend=legend),
        )
    )
    asked = [
        {"cell": cell, "at": transformer.ASKED} for cell in order if cell.startswith(transformer.ASKED_SIZES)
    ]
    demand = alt.Chart(alt.InlineData(values=asked)).mark_tick(color=INK, thickness=1.6, height=34, opacity=1)
    one = alt.Chart(alt.InlineData(values=[{"at": 1}])).mark_rule(color=INK, strokeWidth=0.8)
    title = alt.Title(
        "Training step of the transformer against plain layers called from Python, bfloat16, H200",
        subtitle="above 1x it is faster; black: what was asked of the best of graphs and compiled layers",
    )
    place = alt.X("at:Q", **across)
    chart = alt.layer(one.encode(place), demand.encode(place, y), dots)
    return chart.properties(width=520, height=alt.Step(36), title=title)


def _speed_ups() -> tuple[list[dict[str, Any]], list[str]]:
    """Of every way beside the plain one, and the lines in their order; an older one has its day."""
    points, order = [], []
    found = {cell: ways for cell, ways in transformer.cells().items() if "plain" in ways}
    newest = max(ways["plain"]["day"] for ways in found.values())
    for cell, ways in found.items():
        day = ways["plain"]["day"]
        order.append(f"{transformer.named(cell, ways)}{'' if day == newest else f' ({day})'}")
        for way in [way for way in ways if way != "plain"]:
            layers, _, graph = way.partition("_")
            call = "as one CUDA graph" if graph else "called from Python"
            place = {"cell": order[-1], "place": transformer.EAGER.index(layers)}
            points.append({**place, "layers": layers, "call": call, "speed-up": ways[way]["faster"]})
    return points, order


CHARTS = {
    "gpu-fragmented-cells": fragmented_cells,
    "gpu-switchback-shapes": switchback_shapes,
    "gpu-identical-code": identical_code,
    "gpu-transformer-steps": transformer_steps,
}


def styled(chart: alt.TopLevelMixin) -> Any:
    """On white, so that it can be read on any page."""
    font = "DejaVu Sans, Verdana, sans-serif"
    return (
        chart.configure(background="white", font=font, padding=10)
        .configure_view(stroke="#cccccc")
        .configure_axis(gridColor="#eeeeee", labelColor=INK, titleColor=INK, titleFontWeight="normal")
        .configure_title(anchor="start", subtitleColor="#555555", offset=10)
    )


if __name__ == "__main__":
    for name, draw in CHARTS.items():
        styled(draw()).save(FIGURES / f"{name}.svg")
