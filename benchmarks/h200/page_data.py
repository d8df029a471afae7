"""Rows of the data beside this file, where and when they were made, and words of the tables made of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.h200.common import DATA

Row = dict[str, Any]


def files(pattern: str) -> list[dict[str, Any]]:
    """The older first."""
    found = [json.loads(file.read_text()) for file in sorted(DATA.glob(pattern))]
    return sorted(found, key=lambda data: str(data["environment"]["date"]))


def rows(pattern: str, **wanted: Any) -> Iterator[Row]:
    """Of all files of that name."""
    for data in files(pattern):
        for row in data["rows"]:
            if all(row.get(name) == value for name, value in wanted.items()):
                yield row


def source(pattern: str, command: str) -> str:
    """Where and when, from the files themselves."""
    found = [data["environment"] for data in files(pattern)]
    days = sorted({str(one["date"])[:10] for one in found})
    one = found[-1]
    versions = f"torch {one['torch']}, Triton {one['triton']}, driver {one['driver']}"
    return f"`{command}`; {one['device']}, {', '.join(days)}, {versions}, clocks as found."


def copy_rate() -> float:
    """Bytes a second, read and written, by a kernel over more than the L2."""
    return float(next(rows("card.json", what="ceilings"))["copy_memory"])


def matrix_rate(dtype: str) -> float:
    """Operations a second of a large product."""
    ceilings = next(rows("card.json", what="ceilings"))
    return float({one["dtype"]: one for one in ceilings["matrix"]}[dtype]["flops_per_second"])


def geometric_mean(values: Iterable[float]) -> float:
    known = list(values)
    return math.exp(sum(map(math.log, known)) / len(known))


def met(value: float, asked: float, *, most: bool = False) -> str:
    """Whether the figure is at least what was asked for; at most, where less is better."""
    return "met" if (value <= asked if most else value >= asked) else "not met"


def times(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}x"


def span(values: Iterable[float], digits: int = 2) -> str:
    """From the least to the most."""
    known = list(values)
    low, high = (f"{value:.{digits}f}" for value in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"
