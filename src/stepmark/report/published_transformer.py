"""The published transformer result as tables: as it was, first calls, the profiler's cost, the rates."""

from __future__ import annotations

from collections.abc import Iterator

from stepmark.interchange.grid import GridDocument, Table
from stepmark.published.first_call import first_calls
from stepmark.published.profiler_stall import stalls
from stepmark.published.step_rate import step_rates
from stepmark.published.transformer import PHASES, Timing, timings
from stepmark.published.transformer import tables as published_tables
from stepmark.report import format as show
from stepmark.report.shown_table import ShownTable

TITLES = {
    "warmup-5": "Published, after 5 steps of warm-up",
    "warmup-0": "Published, without warm-up",
    "warmup-1": "Published, after 1 step of warm-up",
    "warmup-2": "Published, after 2 steps of warm-up",
    "nsys": "Published, under nsys",
}


def tables(document: GridDocument) -> tuple[ShownTable, ...]:
    published = tuple(_published(TITLES[name], table) for name, table in published_tables(document).items())
    return (*published, _first_calls(document), *_stalls(document), _rates(document))


def _published(title: str, table: Table) -> ShownTable:
    phases = [timings(table, phase) for phase in PHASES]
    rows = tuple(
        (size, *(text for phase in phases for text in _mean_and_deviation(phase[size]))) for size in phases[0]
    )
    return ShownTable(
        title=title,
        groups=(("", 1), ("forward", 2), ("backward", 2)),
        head=("size", *("mean", "deviation") * 2),
        rows=rows,
        sides="lrrrr",
    )


def _mean_and_deviation(timing: Timing) -> tuple[str, str]:
    return show.seconds(timing.mean), show.seconds(timing.deviation)


def _first_calls(document: GridDocument) -> ShownTable:
    return ShownTable(
        title="The table without warm-up, taken apart: one first call and nine others",
        head=("size", "phase", "first call", "each other", "after warm-up", "compilation"),
        rows=tuple(_first_rows(document)),
        sides="llrrrr",
        note="from mean and deviation of ten: deviation = 0.3 (first - other)",
    )


def _first_rows(document: GridDocument) -> Iterator[tuple[str, ...]]:
    for call in first_calls(document):
        compilation = show.seconds(call.compilation) if call.stands_out else "none"
        times = (show.seconds(value) for value in (call.first, call.rest, call.warm))
        yield (call.size, call.phase, *times, compilation)


def _stalls(document: GridDocument) -> tuple[ShownTable, ...]:
    found = stalls(document)
    if not found:
        return ()
    rows = tuple(
        (
            stall.size,
            str(stall.layers),
            f"{stall.forward_ratio:.2f}x",
            f"{stall.added * 1e3:.1f} ms",
            f"{stall.per_layer * 1e3:.2f} ms",
            f"{100 * (stall.backward_ratio - 1):+.1f} %",
        )
        for stall in found
    )
    return (
        ShownTable(
            title="What nsys cost",
            groups=(("", 2), ("forward", 3), ("backward", 1)),
            head=("size", "layers", "ratio", "added", "a layer", "added"),
            rows=rows,
            sides="lrrrrr",
        ),
    )


def _rates(document: GridDocument) -> ShownTable:
    rows = tuple(
        (
            rate.size,
            *(f"{value / 1e12:.1f}" for value in (rate.forward, rate.backward, rate.handout_forward)),
        )
        for rate in step_rates(document)
    )
    return ShownTable(
        title="TFLOP/s of a step as it was run, and as the handout describes it",
        groups=(("", 1), ("as run", 2), ("handout", 1)),
        head=("size", "forward", "backward", "forward"),
        rows=rows,
        sides="lrrr",
        note="one device has one rate: the step was not the handout's, here at a context of 512",
    )
