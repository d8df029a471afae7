"""The transformer's tables: training steps of all sizes, and the published studies measured again.

Published are forward and backward of a compiled float32 model, d_model sequences of 4 tokens (`as_run`); its
backward times contain the loss, so that ours are put together here too.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from benchmarks.h200.page_data import Row, files, rows, span, times
from benchmarks.h200.transformer import SECONDS
from benchmarks.h200.transformer_published import WARM_UPS, spread
from stepmark.analysis.profile_cost import summarize_cost
from stepmark.interchange.grid import GridDocument
from stepmark.published.catalogue import document_of
from stepmark.published.first_call import first_calls
from stepmark.published.profiler_stall import stalls
from stepmark.published.transformer import tables, timings
from stepmark.records.profile import CostRecording
from stepmark.report.markdown_text import plain, table

STEPS, STUDIES = "transformer_step_*.json", "transformer_published*.json"
SIZES = tuple(SECONDS)
EAGER, GRAPHS = ("plain", "fused", "compiled"), ("plain_graph", "fused_graph", "compiled_graph")
FAST = ("compiled", *GRAPHS)
"""Graphs or compile: one of them has to reach what was asked."""
ASKED, ASKED_SIZES, ASKED_LENGTHS = 2.5, ("small", "medium"), (256, 1024)
"""The plain step's time over that of the fastest, at least; where."""
MODES = {"float32": "float32", "tf32": "TF32", "bfloat16": "bfloat16"}
PHASES = {"forward": "forward", "backward": "loss + backward"}

Cell = tuple[str, int]
"""Size, tokens of a sequence."""


def cells() -> dict[Cell, dict[str, Row]]:
    """The ways that were measured, by size and length; of a cell in two files, the newer."""
    found: dict[Cell, dict[str, Row]] = {}
    for data in files(STEPS):
        these: dict[Cell, dict[str, Row]] = {}
        for row in data["rows"]:
            if "ms" in row:
                ways = these.setdefault((row["size"], row["length"]), {})
                ways[row["way"]] = {**row, "day": str(data["environment"]["date"])[:10]}
        found |= these
    return {cell: found[cell] for cell in sorted(found, key=lambda one: (SIZES.index(one[0]), one[1]))}


def named(cell: Cell, ways: dict[str, Row]) -> str:
    batch = next(iter(ways.values()))["batch"]
    return f"{cell[0]}, {batch} x {cell[1]}"


def fastest(ways: dict[str, Row]) -> Row:
    return min(ways.values(), key=lambda row: float(row["ms"]))


def reached() -> dict[Cell, float]:
    """How many times as fast as plain the best graph or compiled way is, where 2.5x was asked."""
    found = cells()
    asked = [(size, length) for size in ASKED_SIZES for length in ASKED_LENGTHS]
    return {cell: max(found[cell][way]["faster"] for way in FAST if way in found[cell]) for cell in asked}


def steps() -> str:
    """A line for a size and a length, a column for a way."""
    lines = []
    for cell, ways in cells().items():
        ends = [ways["plain"], fastest(ways)] if "plain" in ways else [fastest(ways)]
        shares = " → ".join(f"{100 * row['mfu']:.0f} %" for row in ends)
        peaks = " → ".join(f"{row['peak_bytes'] / 1e9:.1f}" for row in ends)
        told = (_step(ways.get(way)) for way in (*EAGER, *GRAPHS))
        lines.append([named(cell, ways), *told, shares, peaks, ends[0]["day"]])
    titles = ["size, batch x tokens", *EAGER, *(f"{way.split('_')[0]}, graph" for way in GRAPHS)]
    ends_of = ["MFU, plain → fastest", "peak GB, plain → fastest", "measured"]
    return f"{table([*titles, *ends_of], 'lrrrrrrrrl', lines)}\n\n{_steadiness()}"


def _step(row: Row | None) -> str:
    if row is None:
        return ""
    is_compared = row["way"] != "plain" and row["faster"]
    return f"{row['ms']:.1f} ({times(row['faster'], 1)})" if is_compared else f"{row['ms']:.1f}"


def _steadiness() -> str:
    found = cells()
    every = [row for ways in found.values() for row in ways.values()]
    kinds = (
        [row for row in every if row["way"] in GRAPHS],
        [row for row in every if row["way"] == "plain"],
        [row for row in every if row["way"] in EAGER[1:]],
    )
    graphs, plain, others = (100 * (max(map(_scatter, kind)) - 1) for kind in kinds)
    on_device = [
        ways["plain_graph"]["ms"] / fastest(ways)["ms"] for ways in found.values() if "plain_graph" in ways
    ]
    return (
        f"Of a way's blocks the slowest took at most {graphs:.0f} % longer than the fastest in graphs,"
        f" {plain:.0f} % with plain layers called from Python, {others:.0f} % with fused or compiled ones"
        f" called from Python. Against plain layers in a graph the fastest is"
        f" {span(on_device, 1)} times as fast. Products ran at"
        f" {span((row['product_tflops'] for row in every), 0)} TFLOP/s."
    )


def _scatter(row: Row) -> float:
    return float(max(row["ms_rounds"]) / min(row["ms_rounds"]))


def warm_up() -> str:
    """Ten iterations after so many that are dropped: ours, and those published."""
    lines = []
    found = {(row["size"], row["variant"]): row["ms"] for row in rows(STUDIES, table="first")}
    failed = {_place(row): row["error"] for row in rows(STUDIES, table="warm-up") if "error" in row}
    known = {size for size, _ in (*found, *failed)}
    for size in [size for size in SIZES if size in known]:
        for phase, name in PHASES.items():
            for variant in [one for one in ("eager", "compiled") if (size, one) in found]:
                values = iterations(found[size, variant], phase)
                spreads = (_spread(spread([1e-3 * one for one in values], number)) for number in WARM_UPS)
                lines.append([size, name, variant, f"{values[0]:.0f}", *spreads])
            lines.append([size, name, "published", *_published(size, phase)])
        for one, variant in failed.keys() - found.keys():
            if one == size:
                lines.append([size, _not_measured(failed[size, variant]), variant, *[""] * 5])
    dropped = (f"{number or 'none'} dropped" for number in WARM_UPS)
    return table(["size", "pass", "", "first", *dropped], "lllrrrrr", lines)


def _place(row: Row) -> tuple[str, str]:
    return row["size"], row["variant"]


def _not_measured(why: object) -> str:
    return plain(f"not measured: {' '.join(str(why).split())[:80]}")


def iterations(ms: dict[str, list[float]], phase: str) -> list[float]:
    """The first ones in order; backward with the loss."""
    if phase == "forward":
        return ms["forward"]
    return [loss + backward for loss, backward in zip(ms["loss"], ms["backward"], strict=True)]


def _published(size: str, phase: str) -> Iterator[str]:
    """The first iteration follows from mean and deviation where it stands out, and is not known elsewhere."""
    document = _answers()
    (first,) = (one for one in first_calls(document) if (one.size, one.phase) == (size, phase))
    yield f"≈ {1e3 * first.first:.0f}" if first.stands_out else ""
    for dropped in WARM_UPS:
        timing = timings(tables(document)[f"warmup-{dropped}"], phase)[size]
        yield _spread([1e3 * timing.mean, 1e3 * timing.deviation])


def _answers() -> GridDocument:
    document = document_of("transformer-2")
    assert isinstance(document, GridDocument)
    return document


def _spread(found: list[float]) -> str:
    mean, deviation = found
    digits = 0 if deviation >= 100 else 1 if deviation >= 1 else 2
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def profiler() -> str:
    """The same iterations without the profiler and with it, by turns."""
    nsys = {one.size: one for one in stalls(_answers())}
    lines = []
    for row in rows(STUDIES, table="profiler"):
        size = row["size"]
        if "error" in row:
            lines.append([size, _not_measured(row["error"]), *[""] * 4])
            continue
        cost = summarize_cost(msgspec.convert(row["cost"], CostRecording))
        theirs = {"forward": nsys[size].forward_ratio, "backward": nsys[size].backward_ratio}
        for one in cost.phases:
            if one.phase in theirs:
                alone = (f"{1e3 * level.point:.1f}" for level in (one.unprofiled, one.profiled))
                interval = f"{one.ratio.point:.3f} [{one.ratio.low:.3f}, {one.ratio.high:.3f}]"
                lines.append([size, one.phase, *alone, interval, f"{theirs[one.phase]:.3f}"])
    titles = ["size", "pass", "without, ms", "with, ms", "with / without, 95 % interval"]
    return table([*titles, "published, under nsys"], "llrrrr", lines)


def precision() -> str:
    """Forward, and loss with backward, in three precisions."""
    found: dict[tuple[str, str, int], dict[str, Row]] = {}
    for row in rows(STUDIES):
        if "mode" in row:
            found.setdefault((row["size"], row["workload"], row["tokens"]), {})[row["mode"]] = row
    lines = []
    for (size, workload, tokens), modes in found.items():
        cells_of = [
            _spread(modes[mode][f"{phase}_ms"]) if mode in modes else "" for phase in PHASES for mode in MODES
        ]
        whole = {mode: sum(row[f"{phase}_ms"][0] for phase in PHASES) for mode, row in modes.items()}
        gains = [
            times(whole["float32"] / whole[mode], 1) if {mode, "float32"} <= {*whole} else ""
            for mode in ("tf32", "bfloat16")
        ]
        lines.append([f"{size}, `{workload}`", str(tokens), *cells_of, *gains])
    titles = [f"{name}, {mode}" for name in PHASES.values() for mode in MODES.values()]
    gained = ["TF32 faster", "bfloat16 faster"]
    return table(["size, workload", "tokens", *titles, *gained], "lrrrrrrrrr", lines)
