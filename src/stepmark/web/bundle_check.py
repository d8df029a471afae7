"""The check of a bundle: whether a run from elsewhere is one that could have been measured."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec.structs import astuple

from stepmark.records.case import Cell
from stepmark.records.environment import LoadFacts
from stepmark.records.run import FORMAT, Recording, Run, RunStatus
from stepmark.records.sample import Sample, unpack
from stepmark.records.trial import LaneTrial, LaunchTrial

RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]{1,12}")
_WORD = 8
"""Bytes of a packed integer."""
_DAY = 86400.0
LATEST_MOMENT = 253402300800.0 - _DAY
"""A day before the year 10 000, in seconds since the epoch: no calendar shows what comes after, wherever the
reader's clock stands."""
MOST_PHASES = 1000
MOST = 2**31 - 1
"""Of launches and of iterations: what a database's integers hold."""
MOST_TIMES = 2**24
"""Of one case, with room for every round up to the last one, in each phase of each launch."""
MOST_PAIRS = 2**17
"""Of variants in a cell, over all cells: reports hold every two against each other, a fraction of a
millisecond a pair."""


def flaws_of(recording: Recording, *, now: float) -> Iterator[str]:
    """What is wrong with it, in words; nothing where it can be judged and kept. `now` is the time of day."""
    yield from _moments(recording, now)
    yield from _head(recording.run)
    yield from _texts(recording)
    yield from _trials(recording)
    yield from _phases(recording)
    yield from _orders(recording)
    yield from _samples(recording)
    yield from _rounds(recording)


def _moments(recording: Recording, now: float) -> Iterator[str]:
    """A run from the future would stand before all others as the latest one, for as long as it likes."""
    run = recording.run
    ends = (run.started, run.started if run.finished is None else run.finished)
    if not all(0.0 <= moment <= now + _DAY for moment in ends):
        yield "its times are not moments, or later than tomorrow"
    loads: list[LoadFacts | None] = [run.load_start, run.load_end]
    loads += [launch.load for launch in recording.launches]
    others = [load.time for load in loads if load is not None]
    others += [trial.started for trial in recording.trials]
    if run.ceilings is not None:
        others.append(run.ceilings.measured)
    if not all(0.0 <= moment < LATEST_MOMENT for moment in others):
        yield "times of its trials, of its load or of its ceilings are not moments"


def _head(run: Run) -> Iterator[str]:
    if RUN_ID.fullmatch(run.id) is None:
        yield f"its id is not one of a run: {run.id[:40]!r}"
    if run.status is RunStatus.RUNNING:
        yield "the run has not ended: upload it when it has"
    if not 1 <= run.format <= FORMAT:
        yield "its format is none that there was"
    if len({outline.name for outline in run.suites}) < len(run.suites):
        yield "two of its suites have the same name"
    for outline in run.suites:
        if not 0 <= outline.source_index < len(run.sources):
            yield f"suite {outline.name!r} comes from a source that the run does not have"
        names = [variant.name for variant in outline.variants]
        if len(set(names)) < len(names) or sum(variant.baseline for variant in outline.variants) != 1:
            yield f"suite {outline.name!r} needs variants with names of their own, one of them the baseline"
    if not run.cases:
        yield "it has no cases"
    if len({case.id for case in run.cases}) < len(run.cases):
        yield "two of its cases have the same id"
    company = Counter(case.cell for case in run.cases)
    if sum(num * (num - 1) // 2 for num in company.values()) > MOST_PAIRS:
        yield f"more than {MOST_PAIRS} pairs of variants would be held against each other"
    known = {(outline.name, variant.name) for outline in run.suites for variant in outline.variants}
    for case in run.cases:
        if (case.cell.suite, case.variant) not in known:
            yield f"case {case.id!r} belongs to none of its suites"


def _texts(recording: Recording) -> Iterator[str]:
    """What is searched for has a column of its own, and PostgreSQL takes no zero byte there."""
    run = recording.run
    repository = run.environment.repository
    named = {run.environment.stepmark, run.environment.host.hostname}
    named |= {repository.commit, repository.branch or ""} if repository else set()
    named |= {outline.name for outline in run.suites} | {case.id for case in run.cases}
    lanes = [lane for launch in recording.launches for lane in launch.lanes]
    named |= {sample.phase for solo in recording.solos for sample in solo.samples}
    named |= {sample.phase for lane in lanes for sample in lane.samples}
    named |= {total.name for lane in lanes if lane.layout for total in lane.layout.totals}
    if any("\0" in name for name in named):
        yield "a name has a zero byte, which not every store can keep"


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
    if not all(0 <= launch.number <= MOST for launch in recording.launches):
        yield "a launch has a number that cannot be counted to"
    for launch in recording.launches:
        names = [lane.variant for lane in launch.lanes]
        if len(set(names)) < len(names):
            yield "a launch has two lanes of one variant"
            return


def _phases(recording: Recording) -> Iterator[str]:
    """Reports and rules look phases up among each other: thousands of them would take minutes."""
    seen = [solo.evidence for solo in recording.solos if solo.evidence is not None]
    inspected = [[phase.phase for phase in each.inspection.phases] for each in seen if each.inspection]
    if any(len(set(phases)) < len(phases) for phases in inspected):
        yield "a solo pass looked into one phase twice"
    layouts = [each.layout for each in seen]
    layouts += [lane.layout for launch in recording.launches for lane in launch.lanes if lane.layout]
    named = [*inspected, *(layout.phases for layout in layouts), *(layout.totals for layout in layouts)]
    if max(map(len, named), default=0) > MOST_PHASES:
        yield f"a step of more than {MOST_PHASES} phases was measured"


def _orders(recording: Recording) -> Iterator[str]:
    """A round is in one order, and the last may have been begun alone."""
    variants: dict[Cell, set[str]] = {}
    for case in recording.run.cases:
        variants.setdefault(case.cell, set()).add(case.variant)
    if any(_ordered(launch) - variants.get(launch.cell, set()) for launch in recording.launches):
        yield "an order names a variant that its cell does not have"
    for launch in recording.launches:
        num_rounds = max((len(lane.rounds) // _WORD for lane in launch.lanes), default=0)
        if len(launch.round_orders) > num_rounds + 1:
            yield "a launch has more orders than rounds"
            return


def _ordered(launch: LaunchTrial) -> set[str]:
    """Every variant that an order of the launch names."""
    orders = {launch.build_order, launch.warmup_order, *launch.round_orders}
    orders |= {renewal.order for renewal in launch.renewals}
    return {variant for order in orders for variant in order}


def _samples(recording: Recording) -> Iterator[str]:
    lanes = [lane for launch in recording.launches for lane in launch.lanes]
    samples: list[Sample] = [sample for solo in recording.solos for sample in solo.samples]
    samples += [sample for lane in lanes for sample in lane.samples]
    packed = [series for each in samples for series in (each.nanoseconds, each.host, each.lag)]
    packed += [series for lane in lanes for series in _series(lane)]
    if any(len(series) % _WORD for series in packed):
        yield "a series of numbers is cut off"
    if any(sample.iterations < 1 for sample in samples):
        yield "a block of no iterations was timed"
    if any(sample.iterations > MOST for sample in samples):
        yield "a block has more iterations than can be counted"


def _rounds(recording: Recording) -> Iterator[str]:
    """Times are laid out by the numbers of their rounds: one large number takes the room of all before it."""
    lanes: dict[tuple[Cell, str], list[LaneTrial]] = {}
    for launch in recording.launches:
        for lane in launch.lanes:
            lanes.setdefault((launch.cell, lane.variant), []).append(lane)
    for same in lanes.values():
        numbers = [unpack(lane.rounds) for lane in same if len(lane.rounds) % _WORD == 0]
        if any(not _ascends(each) for each in numbers):
            yield "the rounds of a lane are not in ascending order from 0 on"
            return
        num_rounds = 1 + max((each[-1] for each in numbers if each), default=0)
        layouts = [lane.layout for lane in same if lane.layout is not None]
        num_phases = max((len(each.phases) + len(each.totals) + 1 for each in layouts), default=1)
        if num_phases * len(same) * num_rounds > MOST_TIMES:
            yield "its rounds have numbers that cannot be counted to"
            return


def _ascends(numbers: Sequence[int]) -> bool:
    return all(one < other for one, other in pairwise((-1, *numbers)))


def _series(lane: LaneTrial) -> Iterator[bytes]:
    """What is packed of a lane beside its samples."""
    yield lane.rounds
    yield from (lane.watch.live_bytes, lane.watch.own_bytes)
    if lane.warmup is not None:
        yield from (lane.warmup.nanoseconds, lane.warmup.first)
    if lane.watch.card is not None:
        yield from astuple(lane.watch.card)
