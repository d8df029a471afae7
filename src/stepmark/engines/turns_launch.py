"""Launches with turns: a process for each lane, all alive at once, that take turns block by block."""

from __future__ import annotations

import time
from random import Random

from stepmark.engines.process import WorkerProcess
from stepmark.engines.remote_lane import RemoteLane
from stepmark.engines.whole_launch import Attendance, ended, stopped_by_user
from stepmark.instruments.device_pace import pace_of
from stepmark.measure.assemble import launch_trial
from stepmark.measure.assignment import LaunchAssignment
from stepmark.measure.engine import CutOff
from stepmark.measure.launch import conduct
from stepmark.measure.protocol import Event
from stepmark.measure.requests import LaneAlone
from stepmark.records.trial import LaunchTrial


def launch_in_turns(assignment: LaunchAssignment, attendance: Attendance) -> LaunchTrial:
    """The runner conducts; a process sleeps while it is not its turn."""
    watch = attendance.watch
    workers: list[WorkerProcess] = []
    events: list[Event] = []
    try:
        stopped = stopped_by_user(lambda: _alternate(assignment, attendance, workers, events))
        trial = launch_trial(
            assignment,
            events,
            processes=[ended(worker) for worker in workers],
            timing=watch.timing(),
            load=watch.load,
            activity=watch.activity(event for worker in workers for event in worker.events),
            cut_short=stopped,
        )
    finally:
        for worker in workers:
            worker.close()
    if stopped:
        raise CutOff(trial)
    return trial


def _alternate(
    assignment: LaunchAssignment,
    attendance: Attendance,
    workers: list[WorkerProcess],
    events: list[Event],
) -> None:
    """Fills `workers` and `events` as it goes."""
    for case in assignment.cases:
        request = LaneAlone(
            source=assignment.source, case=case, settings=assignment.settings, seed=assignment.seed
        )
        workers.append(attendance.start(request))
    lanes = [
        RemoteLane(case.variant, worker, tick=attendance.tick)
        for case, worker in zip(assignment.cases, workers, strict=True)
    ]
    conduct(
        lanes,
        random=Random(assignment.seed),
        settings=assignment.settings,
        emit=events.append,
        now=time.perf_counter,
        pace=pace_of(assignment.cell.device),
    )
    for lane in lanes:
        lane.leave()
