"""Launches without turns: all lanes in one process, or one process after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from msgspec import structs

from stepmark.engines.process import Tick, WorkerProcess
from stepmark.engines.stopwatch import LaunchWatch
from stepmark.measure.assemble import Ended, last_entered, launch_trial
from stepmark.measure.assignment import LaunchAssignment
from stepmark.measure.engine import CutOff
from stepmark.measure.one_after_another import one_after_another
from stepmark.measure.protocol import Event, LaneFailed
from stepmark.measure.requests import LaneAlone, Launch
from stepmark.records.trial import LaunchTrial


@dataclass(frozen=True, kw_only=True)
class Attendance:
    """What it takes to attend to the workers of a launch."""

    start: Callable[[Launch | LaneAlone], WorkerProcess]
    learn: Callable[[WorkerProcess], None]
    """From what a worker had to import."""
    tick: Tick
    watch: LaunchWatch


def launch_together(assignment: LaunchAssignment, attendance: Attendance) -> LaunchTrial:
    """All lanes in one process."""
    watch = attendance.watch
    worker = attendance.start(_request(assignment))
    try:
        stopped = _await(worker, attendance)
        events = _said(worker, stopped=stopped)
        trial = launch_trial(
            assignment,
            events,
            processes=[ended(worker)],
            timing=watch.timing(),
            load=watch.load,
            activity=watch.activity(events),
            cut_short=stopped or worker.death() is not None,
        )
    finally:
        worker.close()
    if stopped:
        raise CutOff(trial)
    return trial


def launch_one_by_one(assignment: LaunchAssignment, attendance: Attendance) -> LaunchTrial:
    """A process for each lane, gone before the next begins: the device is its own."""
    watch = attendance.watch
    homes = {case.variant: Ended(events=(), started_by="") for case in assignment.cases}
    events: list[list[Event]] = []
    stopped = False
    for case in Random(assignment.seed).sample(assignment.cases, len(assignment.cases)):
        worker = attendance.start(_request(replace(assignment, cases=(case,))))
        try:
            stopped = _await(worker, attendance)
            events.append(_own(_said(worker, stopped=stopped), case.variant))
            homes[case.variant] = ended(worker)
        finally:
            worker.close()
        if stopped:
            break
    trial = launch_trial(
        assignment,
        one_after_another(events),
        processes=[*homes.values()],
        timing=watch.timing(),
        load=watch.load,
        activity=watch.activity(event for said in events for event in said),
        cut_short=stopped,
    )
    if stopped:
        raise CutOff(trial)
    return trial


def _own(events: list[Event], variant: str) -> list[Event]:
    """Of a process with a single lane: what befell the process befell that lane, and no other."""
    return [
        structs.replace(event, variant=variant)
        if isinstance(event, LaneFailed) and event.variant is None
        else event
        for event in events
    ]


def stopped_by_user(act: Callable[[], None]) -> bool:
    try:
        act()
    except KeyboardInterrupt:
        return True
    return False


def ended(worker: WorkerProcess) -> Ended:
    return Ended(events=worker.read_all(), started_by=worker.started_by, output=worker.output())


def _request(assignment: LaunchAssignment) -> Launch:
    return Launch(
        source=assignment.source,
        cases=assignment.cases,
        settings=assignment.settings,
        seed=assignment.seed,
    )


def _await(worker: WorkerProcess, attendance: Attendance) -> bool:
    """To its end, or until the user has enough."""
    stopped = stopped_by_user(partial(worker.join, attendance.tick))
    if stopped:
        worker.kill()
    attendance.learn(worker)
    return stopped


def _said(worker: WorkerProcess, *, stopped: bool) -> list[Event]:
    """All of it, and how it died where it died."""
    death = None if stopped else worker.death()
    events = [*worker.read_all()]
    if death is not None:
        events.append(LaneFailed(variant=last_entered(events).variant, failure=death))
    return events
