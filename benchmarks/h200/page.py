"""The tables of docs/gpu.md from the data beside this file; `python -m benchmarks.h200.page` writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.h200.common import DATA
from stepmark.report.markdown_text import table

PAGE = Path(__file__).parents[2] / "docs" / "gpu.md"
MARKERS = re.compile(r"(<!-- (?P<name>[a-z-]+) begins -->\n).*?(<!-- (?P=name) ends -->)", re.DOTALL)

FRAGMENTED_TARGETS = {
    (8192, 1, 128): 13.0,
    (8192, 1, 32): 9.0,
    (8192, 8, 128): 8.0,
    (8192, 16, 128): 6.0,
    (4096, 1, 128): 6.0,
    (2048, 1, 128): 1.5,
}
"""Speed-ups over nn.Linear that were asked for, float32, replayed as graphs: n, rows, fragments."""


def rows(pattern: str, **wanted: Any) -> Iterator[dict[str, Any]]:
    """Of all files of that name, the older first."""
    files = [json.loads(file.read_text()) for file in sorted(DATA.glob(pattern))]
    for data in sorted(files, key=lambda data: str(data["environment"]["date"])):
        for row in data["rows"]:
            if all(row.get(name) == value for name, value in wanted.items()):
                yield row


def source(pattern: str, command: str) -> str:
    """Where and when, from the files themselves."""
    found = [json.loads(file.read_text())["environment"] for file in sorted(DATA.glob(pattern))]
    days = sorted({str(one["date"])[:10] for one in found})
    one = found[-1]
    versions = f"torch {one['torch']}, Triton {one['triton']}, driver {one['driver']}"
    return f"`{command}`; {one['device']}, {', '.join(days)}, {versions}, clocks as found."


def clock() -> str:
    costs = {row["what"]: row for row in rows("clock.json", part="cost") if "what" in row}
    known = [row for row in rows("clock.json", part="known") if row.get("kind") == "python"]
    starts = [row["first_kernel"] for row in rows("clock.json", part="startup")]
    flushes = {row["flushed_times"]: row for row in rows("clock.json", part="flush") if "flush_us" in row}
    lines = [
        ["host time of one mark", f"{costs['host cost of mark']['us']:.1f} µs"],
        [
            "two adjacent events in a full queue",
            f"{costs['adjacent events in a full queue, us']['us']:.2f} µs apart",
        ],
        ["smallest step of the clock", f"{costs['smallest step of the clock, ns']['ns']} ns"],
        ["overwriting the L2 cache twice, outside the clock", f"{flushes[2]['flush_us']:.0f} µs"],
        [
            "a worker from its fork to its first kernel",
            f"{min(starts):.2f} to {max(starts):.2f} s",
        ],
    ]
    for row in known:
        seen = sorted(row["seen_us"])[len(row["seen_us"]) // 2]
        error = 100 * (seen / row["true_us"] - 1)
        lines.append([f"a kernel of {row['true_us']} µs", f"{seen:.1f} µs ({error:+.1f} %)"])
    return table(["what", "measured"], "lr", lines)


def fragmented() -> str:
    best: dict[tuple[Any, ...], tuple[float, float, str, float | None]] = {}
    for row in rows("fragmented-tilings-*.json"):
        times = {name: us for name, us in row["graph"].items() if us and name != "linear"}
        name = min(times, key=lambda one: times[one])
        key = (row["dtype"], row["n"], row["rows"], row["fragments"])
        layer = (row.get("eager") or {}).get("layer")
        asked = row["eager"]["linear"] / layer if layer else None
        best[key] = (row["graph"]["linear"], times[name], name, asked)
    lines = []
    for (dtype, n, batch, fragments), (linear, ours, name, eager) in sorted(best.items(), key=str):
        target = FRAGMENTED_TARGETS.get((n, batch, fragments)) if dtype == "float32" else None
        lines.append(
            [
                dtype,
                *map(str, (n, batch, fragments)),
                f"{linear:.1f}",
                f"{ours:.1f}",
                f"{linear / ours:.1f}x",
                f"{target:g}x" if target else "",
                f"{eager:.1f}x" if eager else "",
                name,
            ]
        )
    titles = [
        "dtype",
        "n",
        "rows",
        "fragments",
        "nn.Linear, µs",
        "best plan, µs",
        "faster",
        "asked",
        "eager",
        "plan",
    ]
    return table(titles, "lrrrrrrrrl", lines)


def product() -> str:
    lines = []
    for row in rows("switchback-product.json"):
        tiles = (
            {name: rate for name, rate in row.items() if name.startswith("tile") and rate}
            if "m" in row
            else {}
        )
        if tiles and "fp16" in row:
            best = max(tiles, key=lambda one: tiles[one])
            others = (row[name] for name in ("fp16", "int_mm", "fp8_fast"))
            lines.append([f"{row['m']} x {row['k']} x {row['n']}", *map(str, (*others, tiles[best])), best])
    titles = ["rows x in x out", "fp16", "torch._int_mm", "fp8", "int8, ours", "tile"]
    return table(titles, "lrrrrl", lines)


def lora() -> str:
    found = {(row["tokens"], row["features"], row["rank"]): row for row in rows("lora-shapes-*.json")}
    lines = []
    for (tokens, features, rank), row in sorted(found.items()):
        for kind in ("eager", "graph"):
            times = row[f"both_{kind}_us"]
            ratios = (times["ours"] / times[name] for name in ("peft", "plain", "base"))
            lines.append(
                [
                    f"{tokens} x {features} r{rank}",
                    kind,
                    f"{times['ours']:.0f}",
                    *(f"{one:.2f}" for one in ratios),
                ]
            )
    titles = ["tokens x features", "called", "ours, µs", "of PEFT", "of three products", "of the base alone"]
    return table(titles, "llrrrr", lines)


def norms() -> str:
    found: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in rows("operations-norms.json"):
        key = (row["operation"], row["rows"], row["width"], row["dtype"])
        found.setdefault(key, {})[row["way"]] = row
    lines = []
    for key, ways in found.items():
        ours = ways.get("triton")
        if ours is None:
            continue
        cells = [f"{key[0]} {key[1]} x {key[2]} {key[3]}"]
        for what in ("forward_cold", "backward_cold", "training_eager"):
            others = {way: row[what] for way, row in ways.items() if way != "triton" and row.get(what)}
            rival = min(others, key=lambda one: others[one])
            share = f", {100 * ours[f'{what}_share']:.0f} %" if f"{what}_share" in ours else ""
            cells += [f"{ours[what]:.0f}{share}", f"{others[rival]:.0f} ({rival})"]
        lines.append(cells)
    titles = [
        "operation",
        "forward",
        "best other",
        "backward",
        "best other",
        "forward + backward, eager",
        "best other",
    ]
    return table(titles, "lrrrrrr", lines)


def transformer() -> str:
    lines = [
        [
            f"{row['size']}, {row['batch']} x {row['length']}",
            row["way"],
            f"{row['ms']:.1f}",
            f"{100 * row['mfu']:.1f} %",
            f"{row['product_tflops']:.0f}",
            f"{row['peak_bytes'] / 1e9:.1f}",
            f"{row['faster']:.2f}x" if row.get("faster") else "",
        ]
        for row in rows("transformer_step_*.json")
    ]
    titles = ["size, batch x tokens", "way", "step, ms", "MFU", "of TFLOP/s", "peak, GB", "over plain"]
    return table(titles, "llrrrrr", lines)


def verdicts() -> str:
    lines = []
    for row in rows("verdicts-*.json"):
        kinds = [one["kind"] for one in row["verdicts"].values()]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
        lines.append([row["workload"], f"{row['levels']['base']['us']:.0f} µs", row["kind"], counts])
    return table(["workload", "time", "compared with", "verdicts"], "lrll", lines)


SECTIONS: dict[str, tuple[Callable[[], str], str, str]] = {
    "clock": (clock, "clock.json", "python -m benchmarks.h200.clock"),
    "verdicts": (verdicts, "verdicts-*.json", "python -m benchmarks.h200.verdicts"),
    "fragmented": (fragmented, "fragmented-tilings-*.json", "python -m benchmarks.h200.fragmented_tilings"),
    "product": (product, "switchback-product.json", "python -m benchmarks.h200.switchback --what product"),
    "lora": (lora, "lora-shapes-*.json", "python -m benchmarks.h200.lora --what shapes"),
    "norms": (norms, "operations-norms.json", "python -m benchmarks.h200.operations --what norms"),
    "transformer": (
        transformer,
        "transformer_step_*.json",
        "python -m benchmarks.h200.transformer --what step",
    ),
}


def written(page: str) -> str:
    """The page with every marked section made anew."""

    def section(found: re.Match[str]) -> str:
        make, pattern, command = SECTIONS[found["name"]]
        return f"{found[1]}{source(pattern, command)}\n\n{make()}\n{found[3]}"

    return MARKERS.sub(section, page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
