"""The local engine: solo passes and launches as processes of this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import TypeVar

from stepmark.engines.bench_files import BenchFiles
from stepmark.engines.nurseries import ForkNursery, SpawnNursery
from stepmark.engines.process import Nursery, Tick, WorkerProcess
from stepmark.engines.remote_lane import RemoteLane
from stepmark.engines.standby import Standby
from stepmark.engines.stopwatch import LaunchWatch, Stopwatch
from stepmark.engines.whole_launch import (
    Attendance,
    ended,
    launch_one_by_one,
    launch_together,
    stopped_by_user,
)
from stepmark.errors import BenchFileError
from stepmark.instruments.device_pace import pace_of
from stepmark.measure.assemble import last_entered, launch_trial, solo_trial, warmup_trial
from stepmark.measure.assignment import Assignment, LaunchAssignment, SoloAssignment, WarmupAssignment
from stepmark.measure.engine import CutOff
from stepmark.measure.launch import conduct
from stepmark.measure.profile_assignment import TracingAssignment, WeighingAssignment
from stepmark.measure.profile_trials import tracing_trial, weighing_trial
from stepmark.measure.protocol import CeilingsMeasured, Described, Event, Refused
from stepmark.measure.requests import (
    Describe,
    FirstIterations,
    Handed,
    LaneAlone,
    Launch,
    MeasureCeilings,
    Request,
    Solo,
    TakeTrace,
    WeighProfiler,
)
from stepmark.records.ceilings import Ceilings
from stepmark.records.profile import TracingTrial, WeighingTrial
from stepmark.records.settings import Isolation, Settings
from stepmark.records.source import Source
from stepmark.records.trial import LaunchTrial, SoloTrial, Trial
from stepmark.records.warmup import WarmupTrial

T = TypeVar("T")

LEAST_PATIENCE = 60.0
"""Seconds that the fork server has for an answer in any case: a time limit for steps may be shorter than what
it takes to import torch from a cold disk."""


def is_accelerator(device: str) -> bool:
    """Whose context takes a process longer to make than all else that it does before it begins."""
    return device != "cpu"


def worker_environment(threads: int | None) -> dict[str, str]:
    """The environment of workers: the thread pools that read theirs at import get the run's number."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    wanted = dict.fromkeys(names, str(threads)) if threads is not None else {}
    return {**os.environ, **wanted}


class LocalEngine:
    """Runs assignments one at a time, each in fresh processes."""

    def __init__(
        self,
        settings: Settings,
        *,
        start: str = "fork",
        tick: Tick = lambda: None,
        worth_a_standby: Callable[[str], bool] = is_accelerator,
    ) -> None:
        """`worth_a_standby` says on which devices the next worker is started while a case passes alone."""
        self._settings = settings
        self._tick = tick
        self._worth_a_standby = worth_a_standby
        self._standby = Standby(lambda request: self._begin(request, turns=True))
        environment = worker_environment(settings.threads)
        patience = max(settings.timeout, LEAST_PATIENCE)
        self._fork = ForkNursery(environment, patience=patience) if start == "fork" else None
        self._spawn = SpawnNursery(environment)
        self._files = BenchFiles(())
        self._nursery: Nursery = self._fork or self._spawn

    def describe(self, sources: Sequence[Source], device: str) -> Described:
        """What the sources define; a BenchFileError where they cannot be used."""
        self._files = BenchFiles(sources)
        worker = self._start(Describe(sources=tuple(sources), device=device, threads=self._settings.threads))
        try:
            worker.join(self._tick)
            for event in worker.events:
                if isinstance(event, Described):
                    self._learn(worker)
                    return event
                if isinstance(event, Refused):
                    raise BenchFileError(event.problem, remedy=event.remedy, detail=event.detail)
            death = worker.death()
            assert death is not None
            name = last_entered(worker.events).variant or "the suite"
            raise BenchFileError(
                f"importing {name} ended the process: {death.message}",
                remedy="see its output above"
                if death.output
                else "look for what ends a process, like os._exit",
                detail=death.output,
            )
        finally:
            worker.close()

    def perform(self, assignment: Assignment) -> Trial:
        """Run one assignment to its end, whatever that is; a BenchFileError where the sources are no longer
        what they were when they were described."""
        trial = self._performed(assignment)
        self._files.refuse_change()
        return trial

    def _performed(self, assignment: Assignment) -> Trial:
        match assignment:
            case SoloAssignment():
                return self._solo(assignment)
            case LaunchAssignment():
                if assignment.settings.isolation is Isolation.SEPARATE:
                    return self._separate_launch(assignment)
                together = assignment.settings.isolation is Isolation.SHARED
                launch = launch_together if together else launch_one_by_one
                return launch(assignment, self._attendance)

    def ceilings(self, device: str) -> Ceilings | None:
        """The best rates of the device, measured now; None where that came to nothing."""
        worker = self._start(MeasureCeilings(device=device, threads=self._settings.threads))
        try:
            worker.join(self._tick)
            return next((e.ceilings for e in worker.events if isinstance(e, CeilingsMeasured)), None)
        finally:
            worker.close()

    def warm_up(self, assignment: WarmupAssignment) -> WarmupTrial:
        """The first iterations in a fresh process. What it imports is not learnt: the next process is to meet
        the same first iterations."""
        request = FirstIterations(
            source=assignment.source,
            case=assignment.case,
            iterations=assignment.iterations,
            settings=assignment.settings,
            seed=assignment.seed,
        )
        return self._attend(request, partial(warmup_trial, assignment), learn=False)

    def trace(self, assignment: TracingAssignment) -> TracingTrial:
        """Some iterations under the profiler, in a fresh process."""
        request = TakeTrace(
            source=assignment.source,
            case=assignment.case,
            iterations=assignment.iterations,
            settings=assignment.settings,
            seed=assignment.seed,
            trace_file=assignment.trace_file,
            nvtx=assignment.nvtx,
        )
        return self._attend(request, tracing_trial)

    def weigh_profiler(self, assignment: WeighingAssignment) -> WeighingTrial:
        """Blocks with and without the profiler, in a fresh process."""
        request = WeighProfiler(
            source=assignment.source,
            case=assignment.case,
            rounds=assignment.rounds,
            settings=assignment.settings,
            seed=assignment.seed,
        )
        return self._attend(request, partial(weighing_trial, assignment))

    def close(self) -> None:
        """End whatever still runs."""
        self._standby.dismiss()
        if self._fork is not None:
            self._fork.close()
        self._spawn.close()

    def _start(self, request: Request, *, turns: bool = False) -> WorkerProcess:
        """The worker on standby where the request suits it; there is none beside any other."""
        ready = self._standby.call_up(request) if isinstance(request, Solo | Launch) else None
        if ready is not None:
            return ready
        self._standby.dismiss()
        return self._begin(request, turns=turns)

    def _begin(self, request: Handed, *, turns: bool) -> WorkerProcess:
        return WorkerProcess(self._nursery, request, timeout=self._settings.timeout, with_turns=turns)

    @property
    def _attendance(self) -> Attendance:
        return Attendance(start=self._start, learn=self._learn, tick=self._tick, watch=self._launch_watch())

    def _launch_watch(self) -> LaunchWatch:
        return LaunchWatch(self._fork.pid if self._fork is not None else None)

    def _attend(self, request: Request, assemble: Callable[..., T], *, learn: bool = True) -> T:
        """From start to end; `assemble` makes a trial of what it said, when, and how it died."""
        stopwatch = Stopwatch()
        worker = self._start(request)
        try:
            if isinstance(request, Solo) and self._worth_a_standby(request.case.cell.device):
                self._standby.prepare(request.case.cell.device)
            worker.join(self._tick)
            if learn:
                self._learn(worker)
            return assemble(ended(worker), timing=stopwatch.timing(), death=worker.death())
        finally:
            worker.close()

    def _learn(self, worker: WorkerProcess) -> None:
        """Have the fork server import what a worker had to import, so that the next one need not."""
        finished = worker.finished
        if self._fork is None or self._nursery is not self._fork or finished is None:
            return
        if not self._fork.preload(finished.modules, finished.path):
            self._nursery = self._spawn

    def _solo(self, assignment: SoloAssignment) -> SoloTrial:
        request = Solo(
            source=assignment.source,
            case=assignment.case,
            settings=assignment.settings,
            seed=assignment.seed,
        )
        return self._attend(request, partial(solo_trial, assignment))

    def _separate_launch(self, assignment: LaunchAssignment) -> LaunchTrial:
        stopwatch = self._launch_watch()
        workers: list[WorkerProcess] = []
        events: list[Event] = []
        try:
            stopped = stopped_by_user(lambda: self._alternate(assignment, workers, events))
            trial = launch_trial(
                assignment,
                events,
                processes=[ended(worker) for worker in workers],
                timing=stopwatch.timing(),
                load=stopwatch.load,
                activity=stopwatch.activity(event for worker in workers for event in worker.events),
                cut_short=stopped,
            )
        finally:
            for worker in workers:
                worker.close()
        if stopped:
            raise CutOff(trial)
        return trial

    def _alternate(
        self, assignment: LaunchAssignment, workers: list[WorkerProcess], events: list[Event]
    ) -> None:
        """A process per lane, taking turns; fills `workers` and `events` as it goes."""
        for case in assignment.cases:
            request = LaneAlone(
                source=assignment.source, case=case, settings=assignment.settings, seed=assignment.seed
            )
            workers.append(self._start(request, turns=True))
        lanes = [
            RemoteLane(case.variant, worker, tick=self._tick)
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
