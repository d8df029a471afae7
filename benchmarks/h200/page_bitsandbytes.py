"""SwitchBack beside bitsandbytes' kernels in one run, by the number of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from benchmarks.h200.page_data import Row, geometric_mean, rows, times
from benchmarks.h200.page_switchback import is_the_devices
from stepmark.report.markdown_text import table

DATA = "switchback-shapes-float16-0of1-peers.json"
COMMAND = "switchback --what shapes"
ASKED = 1.4
"""Of our speed in theirs, in the geometric mean."""
PAIRS = {"by row": ("auto vector", "bnb rowwise"), "one scale": ("auto global", "bnb global")}
"""What is held against what: the same scales on both sides."""


class Beside(NamedTuple):
    """Both sides of one shape, as multiples of the speed of 16-bit products."""

    rows: int
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def beside(scales: str) -> list[Beside]:
    """All shapes at which bitsandbytes' kernels ran in the same rounds as ours, and the device was timed."""
    ours, theirs = PAIRS[scales]
    return [
        Beside(row["shape"][0], row["speed-up"][ours], row["speed-up"][theirs])
        for row in rows(DATA)
        if _ran(row, theirs)
    ]


def _ran(row: Row, name: str) -> bool:
    return bool(row.get("us", {}).get(name)) and is_the_devices(row)


def ratio(found: Iterable[Beside]) -> float:
    return geometric_mean(one.ratio for one in found)


def by_rows() -> str:
    every = {scales: beside(scales) for scales in PAIRS}
    lines = []
    for num in sorted({one.rows for found in every.values() for one in found}):
        lines.append(
            _line(str(num), {name: [b for b in found if b.rows == num] for name, found in every.items()})
        )
    lines.append(_line("all", every))
    titles = ["rows", "shapes"]
    for scales in PAIRS:
        titles += [f"theirs, {scales}", f"ours, {scales}", "ours over theirs", "least"]
    return table(titles, "lr" + "rrrr" * len(PAIRS), lines)


def _line(name: str, groups: dict[str, list[Beside]]) -> list[str]:
    cells = [name, str(len(groups["by row"]))]
    for found in groups.values():
        cells += [
            times(geometric_mean(one.theirs for one in found)),
            times(geometric_mean(one.ours for one in found)),
        ]
        cells += [times(ratio(found)), times(min(one.ratio for one in found))]
    return cells
