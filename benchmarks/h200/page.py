"""The tables of docs/gpu.md from the data beside this file; `python -m benchmarks.h200.page` writes them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.h200 import (
    page_adamw,
    page_apart,
    page_bitsandbytes,
    page_fragmented,
    page_host,
    page_lora,
    page_operations,
    page_switchback,
    page_targets,
    page_transformer,
    page_verdicts,
)
from benchmarks.h200.page_data import rows, source
from stepmark.report.markdown_text import table

PAGE = Path(__file__).parents[2] / "docs" / "gpu.md"
MARKERS = re.compile(r"(<!-- (?P<name>[a-z0-9-]+) begins -->\n).*?(<!-- (?P=name) ends -->)", re.DOTALL)


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


H200 = "python -m benchmarks.h200"
FRAGMENTED = f"{H200}.fragmented --what"
SHAPES, SHAPES_BF16 = page_switchback.SHAPES["float16"], page_switchback.SHAPES["bfloat16"]
WHOLE_LAYERS = f"{H200}.switchback --what shapes --no-peers"
LAYERS_BF16 = f"{WHOLE_LAYERS} --dtype bfloat16`, `{WHOLE_LAYERS} --dtype bfloat16 --rest"
FEW_ROWS = f"{H200}.fragmented_tilings --what products"
VERDICTS = "`, `".join(
    f"{H200}.verdicts {words}"
    for words in (
        "--repeats 1 --seconds-of-copies 11",
        "--kinds slowed --repeats 2",
        "--kinds slowed --repeats 3 --only add_512k,norm_2048x1024,product_1024,softmax_4096x1024,add_16m",
    )
)
OPERATIONS = f"{H200}.operations --what"
CALLS = "--from-python --ways torch liger triton auto"
NORMS, SOFTMAX = (f"{OPERATIONS} {kind}`, `{OPERATIONS} {kind} {CALLS}" for kind in ("norms", "softmax"))
BOTH = f"{NORMS}`, `{SOFTMAX}"
STUDIES = f"{H200}.transformer --what published --sizes small,medium"
CELLS = f"{FRAGMENTED} cells`, `{FRAGMENTED} cells --shapes 2048,4096 --dtypes bfloat16"
SECTIONS: dict[str, tuple[Callable[[], str], str, str]] = {
    "clock": (clock, "clock.json", f"{H200}.clock"),
    "card": (card, "card.json", f"{H200}.card"),
    "verdicts": (page_verdicts.rates, page_verdicts.PATTERN, VERDICTS),
    "verdicts-workloads": (page_verdicts.by_workload, page_verdicts.PATTERN, VERDICTS),
    "targets": (page_targets.targets, "*.json", f"{H200}.page"),
    "fragmented": (page_fragmented.targets, page_fragmented.CELLS, CELLS),
    "fragmented-cells": (page_fragmented.published, page_fragmented.CELLS, CELLS),
    "fragmented-large": (page_fragmented.large, page_fragmented.MANY, f"{FRAGMENTED} large"),
    "few-rows": (page_fragmented.few_rows, page_fragmented.PRODUCTS, FEW_ROWS),
    "fragmented-train": (page_fragmented.train, "fragmented_train.json", f"{FRAGMENTED} train"),
    "fragmented-inside": (page_fragmented.inside, page_fragmented.INSIDE, f"{FRAGMENTED} inside"),
    "layers": (page_switchback.layers, SHAPES, WHOLE_LAYERS),
    "layers-slow": (page_switchback.slow, SHAPES, WHOLE_LAYERS),
    "layers-large": (page_switchback.large, SHAPES, WHOLE_LAYERS),
    "layers-bf16": (partial(page_switchback.layers, "bfloat16"), SHAPES_BF16, LAYERS_BF16),
    "layers-large-bf16": (partial(page_switchback.large, "bfloat16"), SHAPES_BF16, LAYERS_BF16),
    "host-switchback": (page_host.switchback, page_host.DATA, f"{H200}.{page_host.COMMAND}"),
    "host-fragmented": (page_host.fragmented, page_host.DATA, f"{H200}.{page_host.COMMAND}"),
    "bitsandbytes": (
        page_bitsandbytes.by_rows,
        page_bitsandbytes.DATA,
        f"{H200}.{page_bitsandbytes.COMMAND}",
    ),
    "modules": (page_switchback.modules, "switchback-peers.json", f"{H200}.switchback --what peers"),
    "product": (page_switchback.product, "switchback-product.json", f"{H200}.switchback --what product"),
    "quantisers": (
        page_switchback.quantisers,
        "switchback-quantisers.json",
        f"{H200}.switchback --what quantisers",
    ),
    "lora": (page_lora.lora, page_lora.PATTERN, page_lora.COMMAND),
    "norms": (page_operations.norms, "operations-norms*.json", NORMS),
    "softmax": (page_operations.softmax, "operations-softmax*.json", SOFTMAX),
    "operations": (page_operations.beside_the_best, "operations-[ns]*.json", BOTH),
    "operations-python": (page_operations.from_python, "operations-[ns]*.json", BOTH),
    "adamw": (page_adamw.steps, page_adamw.FILE, f"{OPERATIONS} adamw"),
    "transformer": (page_transformer.steps, page_transformer.STEPS, f"{H200}.transformer --what step"),
    "transformer-warm-up": (page_transformer.warm_up, page_transformer.STUDIES, STUDIES),
    "transformer-profiler": (page_transformer.profiler, page_transformer.STUDIES, STUDIES),
    "transformer-precision": (page_transformer.precision, page_transformer.STUDIES, STUDIES),
    **page_apart.sections(H200),
}


def written(page: str) -> str:
    """The page with every marked section made anew."""

    def section(found: re.Match[str]) -> str:
        make, pattern, command = SECTIONS[found["name"]]
        return f"{found[1]}{source(pattern, command)}\n\n{make()}\n{found[3]}"

    return MARKERS.sub(section, page)


def missing(page: str) -> list[str]:
    """Sections that are nowhere on the page."""
    return sorted({*SECTIONS} - {found["name"] for found in MARKERS.finditer(page)})


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
    for name in missing(PAGE.read_text()):
        print(f"measured, but without a place on the page: <!-- {name} begins --> to <!-- {name} ends -->")
