"""Spans of a trace as arrays: windows of phases, and operations nested by time on their threads.

An operation is inside another one that began before it on the same thread and has not ended. Its own time is
its length without what is inside it. Stamps are rounded to nanoseconds, so the inner one may seem to end a
nanosecond late; it is cut to the outer one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepmark.records.profile import Spans
from stepmark.stats.arrays import BoolArray, FloatArray, IntArray

NANOSECOND = 1e-9
NOTHING = -1
"""In place of an index."""


class Stretches(NamedTuple):
    """Spans in the order of their starts."""

    names: IntArray
    starts: FloatArray
    """Seconds since the first phase began."""
    ends: FloatArray
    tracks: IntArray

    @property
    def lengths(self) -> FloatArray:
        return self.ends - self.starts

    def at(self, places: IntArray | slice) -> Stretches:
        """Some of them, in the order of the places."""
        return Stretches(self.names[places], self.starts[places], self.ends[places], self.tracks[places])


class Nesting(NamedTuple):
    """Which operation is inside which."""

    parents: IntArray
    """The innermost operation around each, or NOTHING."""
    own: FloatArray
    """Seconds without what is inside."""
    outermost: BoolArray
    """No operation of the same name is around it."""


def read_spans(spans: Spans) -> Stretches:
    """Packed columns as arrays; they must come sorted by start, as a trace has them."""
    names, starts, ends, tracks = (
        np.frombuffer(column, dtype="<i8") for column in (spans.names, spans.starts, spans.ends, spans.tracks)
    )
    if not names.size == starts.size == ends.size == tracks.size:
        raise ValueError("the columns of a trace's spans differ in length")
    return Stretches(
        names=names.astype(np.intp),
        starts=starts * NANOSECOND,
        ends=np.maximum(starts, ends) * NANOSECOND,
        tracks=tracks.astype(np.intp),
    )


def nest(spans: Stretches) -> Nesting:
    """Parents and own times of operations."""
    num = spans.names.size
    parents = np.full(num, NOTHING, dtype=np.intp)
    outermost = np.ones(num, dtype=np.bool_)
    own = spans.lengths
    open_on: dict[int, list[int]] = {}
    names, starts, ends = spans.names.tolist(), spans.starts.tolist(), spans.ends.tolist()
    for place, track in enumerate(spans.tracks.tolist()):
        around = open_on.setdefault(track, [])
        while around and ends[around[-1]] <= starts[place]:
            around.pop()
        if around:
            parent = around[-1]
            parents[place] = parent
            own[parent] -= min(ends[place], ends[parent]) - starts[place]
            outermost[place] = all(names[other] != names[place] for other in around)
        around.append(place)
    return Nesting(parents=parents, own=np.maximum(own, 0.0), outermost=outermost)


def sum_upwards(values: FloatArray, parents: IntArray) -> FloatArray:
    """Each operation's value with those of everything inside it; parents stand before what is inside them."""
    sums = values.copy()
    for place in range(values.size - 1, -1, -1):
        if parents[place] != NOTHING:
            sums[parents[place]] += sums[place]
    return sums


def windows_of(phases: Stretches, times: FloatArray) -> IntArray:
    """For each moment the place of the phase it falls into, or NOTHING; phases do not overlap."""
    places = np.searchsorted(phases.starts, times, side="right") - 1
    inside = (places >= 0) & (times < phases.ends[np.maximum(places, 0)])
    return np.where(inside, places, NOTHING).astype(np.intp)


def median_window(lengths: FloatArray) -> int:
    """The place of the window of median length, the shorter one of two: a real window, whose parts add up to
    it, and not one that something disturbed."""
    return int(np.argsort(lengths, kind="stable")[(lengths.size - 1) // 2])
