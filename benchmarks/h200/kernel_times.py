"""Replays of one call as a profiler saw them on the device: launches and times, kernel by kernel.

Of each replay the times of a kernel's launches are added up; a figure is the median over replays. Kernels may
overlap: what two of them share is told apart, so that gaps are the time in which none was running. Gaps are
what is left of a replay that was timed without the profiler: they hold the launch of the graph itself, and
whatever a kernel takes otherwise while it is profiled.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Event(NamedTuple):
    """Work on the device; stamps in microseconds."""

    name: str
    start: float
    end: float


_ANONYMOUS = re.compile(r"\(anonymous namespace\)::|<unnamed>::")
_COPIES = ("Memcpy", "Memset")
_TELLING = re.compile(r"\b(?:\w*[Ff]unctor\w*|\w+Ops|\w+_cuda\w*|cutlass_\w+)\b")
"""In template arguments: what an elementwise kernel computes, or which product it is."""
_WRAPPERS = frozenset({"UnaryFunctor", "BinaryFunctor", "AUnaryFunctor", "BUnaryFunctor"})


def short_name(name: str) -> str:
    """Without namespaces, types and template arguments, but for the one that says what is computed."""
    if name.startswith(_COPIES):
        return name
    kept, arguments = _split(_ANONYMOUS.sub("", name))
    words = kept.split()
    if not words:
        return name
    telling = (word for word in _TELLING.findall(arguments) if word not in _WRAPPERS)
    return " ".join([words[-1].rpartition("::")[2], *list(telling)[:1]])


def _split(name: str) -> tuple[str, str]:
    """What stands outside of angle brackets and before the parameters, and what stands inside."""
    outside, inside, depth = "", "", 0
    for letter in name:
        if letter == "(" and depth == 0:
            break
        if letter == ">" and depth > 0:
            depth -= 1
        if depth == 0:
            outside += "" if letter in "<>" else letter
        else:
            inside += letter
        depth += letter == "<"
    return outside, inside


def taken_apart(events: Sequence[Event], *, replays: int, replay_us: float) -> dict[str, Any]:
    """A row: kernels by first appearance, their sum, what they overlap, and what none of them explains."""
    if not events:
        raise ValueError("the profiler saw nothing on the device")
    ordered = sorted(events, key=lambda event: (event.start, event.end))
    found: dict[str, list[Event]] = {}
    for event in ordered:
        found.setdefault(short_name(event.name), []).append(event)
    kernels = [_kernel(name, launches, replays) for name, launches in found.items()]
    together = sum(kernel["us"] for kernel in kernels)
    overlap = _a_call(_by_replay(ordered, replays), replays, lambda each: _spent(each) - _busy(each))
    return {
        "replay_us": replay_us,
        "sum_us": together,
        "overlap_us": overlap,
        "gaps_us": replay_us - together + overlap,
        "kernels": kernels,
    }


def _kernel(name: str, launches: list[Event], replays: int) -> dict[str, Any]:
    """A number of launches that is no whole one says that the profiler lost some."""
    parts = _by_replay(launches, replays)
    row: dict[str, Any] = {"kernel": name, "launches": len(launches) / replays}
    row["us"] = _a_call(parts, replays, _spent)
    if len(parts) == replays and len(parts[0]) > 1:
        places = zip(*parts, strict=True)
        row["each_us"] = [statistics.median(map(_length, place)) for place in places]
    return row | {"as_profiled": launches[0].name[:300]}


def _by_replay(events: list[Event], replays: int) -> list[list[Event]]:
    """In order; all in one part where they cannot be dealt out evenly."""
    size, rest = divmod(len(events), replays)
    return [events] if rest else [events[start : start + size] for start in range(0, len(events), size)]


def _a_call(parts: list[list[Event]], replays: int, measure: Callable[[list[Event]], float]) -> float:
    return statistics.median(map(measure, parts)) * len(parts) / replays


def _length(event: Event) -> float:
    return event.end - event.start


def _spent(events: list[Event]) -> float:
    return sum(map(_length, events))


def _busy(events: list[Event]) -> float:
    """While at least one was running; they come by their start."""
    total, until = 0.0, events[0].start
    for event in events:
        total += max(0.0, event.end - max(event.start, until))
        until = max(until, event.end)
    return total
