"""Where the time of a call goes, kernel by kernel, beside that of what it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.h200.page_data import Row, files, rows
from stepmark.report.markdown_text import code, plain, table

PARTS = ("few", "many", "train", "lora", "switchback")
MOST_TOLD = 4
"""Launches of one kernel whose times stand one by one."""
TOTALS = {
    "all kernels": "sum_us",
    "two at once": "overlap_us",
    "no kernel": "gaps_us",
    "**the replay**": "replay_us",
}
LEAST = 0.05
"""Microseconds that are more than none in this table."""


def file_of(part: str) -> str:
    return f"apart_{part}.json"


def sections(commands: str) -> dict[str, tuple[Callable[[], str], str, str]]:
    """Of the parts that have been measured: how a section is made, of which file, by which command."""
    return {
        f"apart-{part}": (partial(tables, part), file_of(part), f"{commands}.apart --what {part}")
        for part in PARTS
        if files(file_of(part))
    }


def tables(part: str) -> str:
    """One of each shape below its name."""
    return "\n\n".join(f"**{_name(row)}**\n\n{_kernels(row)}" for row in rows(file_of(part)))


def _name(row: Row) -> str:
    told = ", ".join(f"{name} {value}" for name, value in row.items() if name not in ("calls", "failed"))
    return plain(told)


def _kernels(row: Row) -> str:
    if "failed" in row:
        return f"Not measured: {plain(row['failed'])}"
    calls: dict[str, Row] = row["calls"]
    found = {name: call for name, call in calls.items() if "kernels" in call}
    failed = [
        f"Not taken apart, {name}: {plain(str(call.get('failed', 'no kernels')))}"
        for name, call in calls.items()
        if name not in found
    ]
    titles = ["kernel", *(f"{name}, {what}" for name in found for what in ("launches", "µs"))]
    lines = [*_launched(found), *_totals(found)]
    return "\n\n".join([*([table(titles, "l" + "rr" * len(found), lines)] if found else []), *failed])


def _launched(calls: dict[str, Row]) -> Iterator[list[str]]:
    """By first appearance; what only the later calls launch comes last."""
    each = {name: {kernel["kernel"]: kernel for kernel in call["kernels"]} for name, call in calls.items()}
    for kernel in dict.fromkeys(kernel for known in each.values() for kernel in known):
        line = [code(kernel)]
        for known in each.values():
            line += _told(known[kernel]) if kernel in known else ["", ""]
        yield line


def _told(kernel: Row) -> list[str]:
    """Launches and µs, in brackets those of each launch where they are few."""
    each = kernel.get("each_us", [])
    one_by_one = f" ({' + '.join(f'{us:.1f}' for us in each)})" if 1 < len(each) <= MOST_TOLD else ""
    return [f"{kernel['launches']:g}", f"{kernel['us']:.1f}{one_by_one}"]


def _totals(calls: dict[str, Row]) -> Iterator[list[str]]:
    """What kernels have in common is taken off their sum; gaps are what is left of the replay."""
    for told, key in TOTALS.items():
        sign = -1 if key == "overlap_us" else 1
        if sign > 0 or any(call[key] >= LEAST for call in calls.values()):
            cells = (("", f"{round(sign * call[key], 1) + 0.0:.1f}") for call in calls.values())
            yield [told, *(cell for pair in cells for cell in pair)]
