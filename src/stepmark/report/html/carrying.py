"""Carrying: which raw values of a run a page takes along, and how they are packed into series.

All of them where they fit. Where a run has so many that the page would become too large to send around, the
phases that no verdict is about are left out first; then only every n-th round is carried. The page says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stepmark.records.sample import Layout
from stepmark.records.trial import LaneTrial, LaunchTrial
from stepmark.report.html.packing import Integers, pack_column
from stepmark.report.html.series import (
    Carried,
    CaseSeries,
    Level,
    PhaseSeries,
    ShownSeries,
    WarmupSeries,
)
from stepmark.stats.arrays import FloatArray
from stepmark.stats.blocks import integers
from stepmark.stats.quantile import quantiles
from stepmark.stats.tukey import fences_at, labels

WHOLE, EACH_CASE, LEAST = 1_700_000, 2_750, 300_000
"""Characters: what raw values have of a page of 3 MB without cases, what every case's tables take of that,
and what raw values have in any case."""
WARMUPS = 5
"""Launches whose warm-up is carried; all have one, and they are alike."""
FAR = 8.0
"""In widths of a launch's middle half: what lies farther beyond it is drawn at the edge of a figure."""
LONGEST = 1e6
"""Seconds of an iteration that a box can show; numbers beyond it would not fit."""
LEAST_EACH = 1.6
"""Characters that a raw value takes at least, about: where even that is too much, nothing is tried."""
MOST_THINNED = 1000
"""Beyond that hardly a round is left, and what is too large is something else."""


@dataclass(frozen=True)
class Timed:
    """The lanes of one case with their launches, before they are packed."""

    layout: Layout
    lanes: tuple[tuple[LaunchTrial, LaneTrial], ...]
    """In time order; each has at least one block."""
    turns: tuple[Integers, ...]
    """Of each lane: its place in each of its rounds, from 1; 0 where that is not known."""
    levels: tuple[Level, ...] = ()

    def level(self, phase: str) -> Level | None:
        return next((level for level in self.levels if level.phase == phase), None)

    @property
    def num_blocks(self) -> int:
        return sum(len(lane.rounds) // 8 for _, lane in self.lanes)


def room_for(num_cases: int) -> int:
    """Characters that all series of a page may take together."""
    return max(LEAST, WHOLE - EACH_CASE * num_cases)


def carry(timed: Mapping[str, Timed], *, budget: int) -> tuple[dict[str, CaseSeries], Carried, int]:
    """The series of all cases, what they hold, and each how many-th round."""
    blocks = sum(each.num_blocks for each in timed.values())
    values = sum(each.num_blocks * len(each.layout.phases) for each in timed.values())
    if LEAST_EACH * values <= budget:
        everything = {case: series_of(each) for case, each in timed.items()}
        if _size(everything) <= budget:
            return everything, Carried.ALL, 1
    every, size = max(1, int(LEAST_EACH * blocks / budget)), math.inf
    while size > budget and every < MOST_THINNED:
        primary = {case: series_of(each, every=every, primary=True) for case, each in timed.items()}
        size = _size(primary)
        if size > budget:
            every = max(every + 1, math.ceil(every * size / budget))
    return primary, Carried.THINNED if every > 1 else Carried.PRIMARY, every


def _size(series: Mapping[str, CaseSeries]) -> int:
    return sum(each.size for each in series.values())


def series_of(timed: Timed, *, every: int = 1, primary: bool = False) -> CaseSeries:
    """One case; the parts of its primary phase alone where that is asked for."""
    layout, lanes = timed.layout, timed.lanes
    names = _parts(layout, layout.primary) if primary else layout.phases
    known = {phase: blocks for phase in names if (blocks := _blocks(lanes, phase)) is not None}
    return CaseSeries(
        launches=tuple(launch.number for launch, _ in lanes),
        blocks=tuple(len(range(0, len(lane.rounds) // 8, every)) for _, lane in lanes),
        measured=tuple(len(lane.rounds) // 8 for _, lane in lanes),
        rounds=pack_column(_joined([integers(lane.rounds)[::every] for _, lane in lanes])),
        turns=pack_column(_joined([turns[::every] for turns in timed.turns])),
        phases=tuple(
            PhaseSeries(
                phase=phase,
                iterations=tuple(iterations for iterations, _ in blocks),
                nanoseconds=pack_column(_joined([values[::every] for _, values in blocks])),
            )
            for phase, blocks in known.items()
        ),
        shown=tuple(_shown(timed, known, every=every, primary=primary)),
        warmups=tuple(_warmup(launch, lane) for launch, lane in lanes[:WARMUPS] if lane.warmup is not None),
        steady=timed.level(layout.whole or layout.primary),
    )


def _parts(layout: Layout, name: str) -> tuple[str, ...]:
    """The measured phases that a phase or total is the sum of."""
    return next((total.parts for total in layout.totals if total.name == name), (name,))


Blocks = list[tuple[int, Integers]]
"""Iterations of a block, and the nanoseconds of each, launch by launch."""


def _blocks(lanes: Sequence[tuple[LaunchTrial, LaneTrial]], phase: str) -> Blocks | None:
    """None where a lane does not have the phase."""
    found: Blocks = []
    for _, lane in lanes:
        sample = next((sample for sample in lane.samples if sample.phase == phase), None)
        if sample is None:
            return None
        found.append((sample.iterations, integers(sample.nanoseconds)))
    return found


def _shown(timed: Timed, known: Mapping[str, Blocks], *, every: int, primary: bool) -> Iterator[ShownSeries]:
    """The primary first, then every measured phase."""
    layout = timed.layout
    for name in dict.fromkeys((layout.primary, *(() if primary else layout.phases))):
        parts = _parts(layout, name)
        if all(part in known for part in parts):
            yield _one_shown(name, parts, [known[part] for part in parts], timed=timed, every=every)


def _one_shown(
    name: str, parts: tuple[str, ...], blocks: Sequence[Blocks], *, timed: Timed, every: int
) -> ShownSeries:
    seconds = seconds_by_launch(blocks)
    first, middle, third = quantiles(seconds, (0.25, 0.5, 0.75))
    found = labels(seconds, fences_at(first, third))
    there = ~np.isnan(seconds)
    regular = np.where(there & (found == 0), seconds, np.nan)
    low, high = np.fmin.reduce(regular, axis=1), np.fmax.reduce(regular, axis=1)
    boxes = np.stack([np.fmin(low, middle), first, middle, third, np.fmax(high, middle)])
    flat = [(row[mask][::every] + 2).astype(np.int64) for row, mask in zip(found, there, strict=True)]
    width = FAR * (third - first)
    return ShownSeries(
        name=name,
        parts=parts,
        labels=pack_column(_joined(flat)),
        boxes=pack_column(np.rint(np.minimum(boxes.reshape(-1), LONGEST) * 1e12).astype(np.int64)),
        outliers=tuple(np.count_nonzero(found, axis=1).tolist()),
        edges=(max(0.0, float(np.min(first - width))), float(np.max(third + width))),
        level=timed.level(name),
    )


def seconds_by_launch(parts: Sequence[Blocks]) -> FloatArray:
    """Per iteration, launches by blocks, filled up with NaN; a total is the sum of its parts."""
    longest = max(len(values) for _, values in parts[0])
    summed = np.zeros((len(parts[0]), longest))
    for blocks in parts:
        for row, (iterations, values) in enumerate(blocks):
            summed[row, : len(values)] += values * (1e-9 / iterations)
            summed[row, len(values) :] = np.nan
    return summed


def primary_seconds(timed: Timed) -> FloatArray | None:
    """The times that the verdict is about, launches by blocks; None where they are not complete."""
    parts = [_blocks(timed.lanes, part) for part in _parts(timed.layout, timed.layout.primary)]
    whole = [part for part in parts if part is not None]
    return seconds_by_launch(whole) if whole and len(whole) == len(parts) else None


def turns_in(launch: LaunchTrial) -> dict[str, Integers]:
    """By variant, its place in each round of the launch, from 1; 0 where it did not run."""
    orders = launch.round_orders
    places = {lane.variant: np.zeros(len(orders) + 1, dtype=np.int64) for lane in launch.lanes}
    for number, order in enumerate(orders):
        for place, variant in enumerate(order, 1):
            if variant in places:
                places[variant][number] = place
    return {
        lane.variant: places[lane.variant][np.minimum(integers(lane.rounds), len(orders))]
        for lane in launch.lanes
    }


def _warmup(launch: LaunchTrial, lane: LaneTrial) -> WarmupSeries:
    assert lane.warmup is not None
    warm = lane.warmup
    return WarmupSeries(
        launch=launch.number,
        first=tuple(integers(warm.first).tolist()),
        iterations=warm.iterations,
        blocks=tuple(integers(warm.nanoseconds).tolist()),
        settled=warm.settled,
    )


def _joined(
    pieces: Sequence[Integers],
) -> Integers:
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)
