"""The check of a bundle: whether a run from elsewhere is one that could have been measured."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from stepmark.records.run import Recording, Run, RunStatus
from stepmark.records.sample import Sample

RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]{1,12}")
_WORD = 8
"""Bytes of a packed integer."""
LATEST_MOMENT = 253402300800.0
"""The year 10 000, in seconds since the epoch: no calendar shows what comes after."""


def flaws_of(recording: Recording) -> Iterator[str]:
    """What is wrong with it, in words; nothing where it can be judged and kept."""
    yield from _head(recording.run)
    yield from _trials(recording)
    yield from _samples(recording)


def _head(run: Run) -> Iterator[str]:
    if RUN_ID.fullmatch(run.id) is None:
        yield f"its id is not one of a run: {run.id[:40]!r}"
    if run.status is RunStatus.RUNNING:
        yield "the run has not ended: upload it when it has"
    moments = (run.started, run.finished if run.finished is not None else run.started)
    if not all(0.0 <= moment < LATEST_MOMENT for moment in moments):
        yield "its times are not moments"
    outlines = {outline.name: outline for outline in run.suites}
    if len(outlines) < len(run.suites):
        yield "two of its suites have the same name"
    for outline in run.suites:
        names = [variant.name for variant in outline.variants]
        if len(set(names)) < len(names) or sum(variant.baseline for variant in outline.variants) != 1:
            yield f"suite {outline.name!r} needs variants with names of their own, one of them the baseline"
    if not run.cases:
        yield "it has no cases"
    if len({case.id for case in run.cases}) < len(run.cases):
        yield "two of its cases have the same id"
    for case in run.cases:
        known = outlines.get(case.cell.suite)
        if known is None or case.variant not in [variant.name for variant in known.variants]:
            yield f"case {case.id!r} belongs to none of its suites"


def _trials(recording: Recording) -> Iterator[str]:
    cases = {*recording.run.cases}
    cells = {case.cell for case in cases}
    if any(solo.case not in cases for solo in recording.solos):
        yield "a solo pass is of a case that the run does not have"
    if any(launch.cell not in cells for launch in recording.launches):
        yield "a launch is of a cell that the run does not have"
    variants = {(case.cell, case.variant) for case in cases}
    lanes = {(launch.cell, lane.variant) for launch in recording.launches for lane in launch.lanes}
    if lanes - variants:
        yield "a lane is of a variant that its cell does not have"
    numbers = Counter((launch.cell, launch.number) for launch in recording.launches)
    if any(number > 1 for number in numbers.values()):
        yield "two launches of a cell have the same number"
    for launch in recording.launches:
        names = [lane.variant for lane in launch.lanes]
        if len(set(names)) < len(names):
            yield "a launch has two lanes of one variant"
            return


def _samples(recording: Recording) -> Iterator[str]:
    lanes = [lane for launch in recording.launches for lane in launch.lanes]
    samples: list[Sample] = [sample for solo in recording.solos for sample in solo.samples]
    samples += [sample for lane in lanes for sample in lane.samples]
    packed = [series for each in samples for series in (each.nanoseconds, each.host, each.lag)]
    packed += [lane.rounds for lane in lanes]
    if any(len(series) % _WORD for series in packed):
        yield "a series of numbers is cut off"
    if any(sample.iterations < 1 for sample in samples):
        yield "a block of no iterations was timed"
