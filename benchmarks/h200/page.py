"""The tables of docs/gpu.md from the data beside this file; `python -m benchmarks.h200.page` writes them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.h200 import page_fragmented, page_switchback, page_targets, page_verdicts
from benchmarks.h200.page_data import met, rows, source
from stepmark.report.markdown_text import table

PAGE = Path(__file__).parents[2] / "docs" / "gpu.md"
MARKERS = re.compile(r"(<!-- (?P<name>[a-z-]+) begins -->\n).*?(<!-- (?P=name) ends -->)", re.DOTALL)
PEFT_ASKED, BASE_ASKED = 0.5, 1.12
"""LoRA's time in PEFT's where the host decides, and in the frozen base's at 4096 x 4096 r16, eager."""


def clock() -> str:
    costs = {row["what"]: row for row in rows("clock.json", part="cost") if "what" in row}
    known = [row for row in rows("clock.json", part="known") if row.get("kind") == "python"]
    starts = [row["first_kernel"] for row in rows("clock.json", part="startup")]
    flushes = {row["flushed_times"]: row for row in rows("clock.json", part="flush") if "flush_us" in row}
    adjacent = costs["adjacent events in a full queue, us"]["us"]
    lines = [
        ["host time of one mark", f"{costs['host cost of mark']['us']:.1f} µs"],
        ["two adjacent events in a full queue", f"{adjacent:.2f} µs apart"],
        ["smallest step of the clock", f"{costs['smallest step of the clock, ns']['ns']} ns"],
        ["overwriting the L2 cache twice, outside the clock", f"{flushes[2]['flush_us']:.0f} µs"],
        ["a worker from its fork to its first kernel", f"{min(starts):.2f} to {max(starts):.2f} s"],
    ]
    for row in known:
        seen = statistics.median_high(row["seen_us"])
        error = 100 * (seen / row["true_us"] - 1)
        lines.append([f"a kernel of {row['true_us']} µs", f"{seen:.1f} µs ({error:+.1f} %)"])
    return table(["what", "measured"], "lr", lines)


def card() -> str:
    found = {row["what"]: row for row in rows("card.json")}
    blocks, ceilings = found["block after"], found["ceilings"]
    lines = []
    for name, told in (("glance", "clock, power and reasons"), ("look", "these, heat, processes and more")):
        cost = found[name]
        text = f"{cost['median_us']:.1f} µs ({cost['most_us']:.0f} µs)"
        lines.append([f"asking for {told}: median (most of 200)", text])
    for name, told in (("nothing", "nothing"), ("glance", "a reading"), ("pause", "a pause as long")):
        lines.append([f"a block of 20 products right after {told}", f"{blocks[name]:.0f} µs"])
    for kind, numbers in (("zeros", "noughts"), ("random", "random numbers")):
        seen = found[f"products of {kind}"]
        rate = f"{seen['flops_per_second'] / 1e12:.0f} TFLOP/s"
        text = f"{rate}, {seen['megahertz']} MHz, {seen['watts']:.0f} W"
        lines.append([f"products of {numbers}, bfloat16, for 1.5 s", text])
    lines.append(["copy, from memory", f"{ceilings['copy_memory'] / 1e12:.2f} TB/s"])
    lines.append(["copy, from cache", f"{ceilings['copy_cache'] / 1e12:.2f} TB/s"])
    for one in ceilings["matrix"]:
        lines.append([f"product of {one['dtype']}", f"{one['flops_per_second'] / 1e12:.0f} TFLOP/s"])
    return table(["what", "measured"], "lr", lines)


def lora() -> str:
    lines = []
    for row in rows("lora.json"):
        for kind in ("eager", "graph"):
            times = row[f"both_{kind}_us"]
            peft, three, base = (times["ours"] / times[name] for name in ("peft", "plain", "base"))
            told, asked = "", ""
            if kind == "eager" and row["tokens"] == 64:
                asked, told = f"{PEFT_ASKED} of PEFT", met(peft, PEFT_ASKED, most=True)
            elif kind == "eager":
                asked, told = f"{BASE_ASKED} of the base", met(base, BASE_ASKED, most=True)
            name = f"{row['tokens']} x {row['features']} r{row['rank']}"
            alone = (f"{times[one]:.0f}" for one in ("base", "peft", "ours"))
            lines.append([name, kind, *alone, *(f"{one:.2f}" for one in (peft, three, base)), asked, told])
    titles = ["tokens x features", "called", "base, µs", "PEFT, µs", "ours, µs", "of PEFT"]
    return table([*titles, "of three products", "of the base", "asked", ""], "llrrrrrrll", lines)


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
    titles = ["operation", "forward", "best other", "backward", "best other"]
    return table([*titles, "forward + backward, eager", "best other"], "lrrrrrr", lines)


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


H200 = "python -m benchmarks.h200"
FRAGMENTED = f"{H200}.fragmented --what"
SHAPES = "switchback-shapes-float16-*.json"
VERDICTS = f"{H200}.verdicts --repeats 1 --seconds-of-copies 11`, `{H200}.verdicts --kinds slowed --repeats 2"
LORA = "lora --what shapes --dtypes bf16 --rounds 3 --only 64x512r8 64x1024r8 64x2048r8 4096x4096r16"
SECTIONS: dict[str, tuple[Callable[[], str], str, str]] = {
    "clock": (clock, "clock.json", f"{H200}.clock"),
    "card": (card, "card.json", f"{H200}.card"),
    "verdicts": (page_verdicts.rates, page_verdicts.PATTERN, VERDICTS),
    "verdicts-workloads": (page_verdicts.by_workload, page_verdicts.PATTERN, VERDICTS),
    "targets": (page_targets.targets, "*.json", f"{H200}.page"),
    "fragmented": (page_fragmented.targets, "fragmented_cells.json", f"{FRAGMENTED} cells"),
    "fragmented-cells": (page_fragmented.published, "fragmented_cells.json", f"{FRAGMENTED} cells"),
    "fragmented-large": (page_fragmented.large, "fragmented_large.json", f"{FRAGMENTED} large"),
    "fragmented-train": (page_fragmented.train, "fragmented_train.json", f"{FRAGMENTED} train"),
    "layers": (page_switchback.layers, SHAPES, f"{H200}.switchback --what shapes --no-peers"),
    "layers-slow": (page_switchback.slow, SHAPES, f"{H200}.switchback --what shapes --no-peers"),
    "layers-large": (page_switchback.large, SHAPES, f"{H200}.switchback --what shapes --no-peers"),
    "modules": (page_switchback.modules, "switchback-layers.json", f"{H200}.switchback --what peers"),
    "product": (page_switchback.product, "switchback-product.json", f"{H200}.switchback --what product"),
    "quantisers": (
        page_switchback.quantisers,
        "switchback-quantisers.json",
        f"{H200}.switchback --what quantisers",
    ),
    "lora": (lora, "lora.json", f"{H200}.{LORA}"),
    "norms": (norms, "operations-norms.json", f"{H200}.operations --what norms"),
    "transformer": (transformer, "transformer_step_*.json", f"{H200}.transformer --what step"),
}


def written(page: str) -> str:
    """The page with every marked section made anew."""

    def section(found: re.Match[str]) -> str:
        make, pattern, command = SECTIONS[found["name"]]
        return f"{found[1]}{source(pattern, command)}\n\n{make()}\n{found[3]}"

    return MARKERS.sub(section, page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
