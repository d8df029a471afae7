"""What the host spends on a call of a layer, taken apart."""

from __future__ import annotations

from benchmarks.h200.page_data import rows
from stepmark.report.markdown_text import table

DATA, COMMAND = "host.json", "host"
SWITCHBACK = ["nn.Linear", "auto", "int8", "int8, one thread", "int8, without autograd"]
FRAGMENTED = ["nn.Linear", "layer", "shortcut", "launches"]


def switchback() -> str:
    lines = [
        [" x ".join(map(str, row["shape"])), *_times(row["us"], SWITCHBACK)]
        for row in rows(DATA, layer="SwitchBack")
    ]
    return table(["rows x in x out", *(f"{name}, µs" for name in SWITCHBACK)], "l" + "r" * 5, lines)


def fragmented() -> str:
    lines = [
        [row["dtype"], str(row["n"]), str(row["rows"]), *_times(row["us"], FRAGMENTED)]
        for row in rows(DATA, layer="Fragmented")
    ]
    return table(["dtype", "n", "rows", *(f"{name}, µs" for name in FRAGMENTED)], "lrrrrrr", lines)


def _times(found: dict[str, float], names: list[str]) -> list[str]:
    return [f"{found[name]:.0f}" for name in names]
