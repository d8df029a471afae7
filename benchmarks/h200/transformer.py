"""The transformer's training step on one GPU: all sizes, plain against fused, compiled and captured.

    python -m benchmarks.h200.transformer --what step [--sizes small,xl]     about a minute a size
    python -m benchmarks.h200.transformer --what attention                   torch's backends, 15 s
    python -m benchmarks.h200.transformer --what published                   the published tables again

Every size runs in a process of its own with a limit, so that one that fails or does not fit ends alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.h200.common import save
from benchmarks.h200.transformer_published import PARTS, published
from benchmarks.h200.transformer_rows import lines_of

Rows = list[dict[str, Any]]

SECONDS = {"small": 150, "medium": 150, "large": 170, "xl": 200, "2.7B": 240}
"""Limits, compilation included."""
FEW = "plain,fused,fused_graph,compiled_graph"
WAYS = {"large": FEW, "xl": FEW, "2.7B": FEW}


def step(sizes: list[str], more: list[str]) -> Iterator[Rows]:
    for size in sizes:
        few = ["--ways", WAYS[size]] if size in WAYS and "--ways" not in more else []
        yield lines_of("benchmarks.h200.transformer_step", ["--size", size, *few, *more], SECONDS[size])


def keep(name: str, parts: Iterable[Rows]) -> None:
    """Saved part by part: what is known survives a limit."""
    rows: Rows = []
    for part in parts:
        rows += part
        save(name, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--what", choices=["step", "attention", "published"], default="step")
    parser.add_argument("--sizes", default=",".join(SECONDS))
    parser.add_argument("--parts", default=",".join(PARTS), help="of --what published")
    parser.add_argument("--name", help="of the file, instead of transformer_WHAT")
    given, more = parser.parse_known_args()
    sizes, name = given.sizes.split(","), given.name or f"transformer_{given.what}"
    if given.what == "step":
        keep(name, step(sizes, more))
    elif given.what == "attention":
        keep(name, [lines_of("benchmarks.h200.transformer_attention", more, 90)])
    else:
        keep(name, published(sizes, given.parts.split(",")))


if __name__ == "__main__":
    main()
