"""The local engine: solo passes and launches as processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import TypeVar

from stepmark.engines.bench_files import BenchFiles
from stepmark.engines.nurseries import ForkNursery, SpawnNursery
from stepmark.engines.process import Nursery, Tick, WorkerProcess
from stepmark.engines.standby import Standby
from stepmark.engines.stopwatch import LaunchWatch, Stopwatch
from stepmark.engines.turns_launch import launch_in_turns
from stepmark.engines.whole_launch import Attendance, ended, launch_one_by_one, launch_together
from stepmark.errors import BenchFileError
from stepmark.measure.assemble import last_entered, solo_trial, warmup_trial
from stepmark.measure.assignment import Assignment, LaunchAssignment, SoloAssignment, WarmupAssignment
from stepmark.measure.profile_assignment import TracingAssignment, WeighingAssignment
from stepmark.measure.profile_trials import tracing_trial, weighing_trial
from stepmark.measure.protocol import CeilingsMeasured, Described, Entered, Refused
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
from stepmark.records.outcome import Outcome, Stage
from stepmark.records.profile import TracingTrial, WeighingTrial
from stepmark.records.settings import Isolation, Settings
from stepmark.records.source import Source
from stepmark.records.trial import LaunchTrial, SoloTrial, Trial
from stepmark.records.warmup import WarmupTrial

T = TypeVar("T")

LAUNCHES = {
    Isolation.SHARED: launch_together,
    Isolation.SEPARATE: launch_in_turns,
    Isolation.ALONE: launch_one_by_one,
}

LOOK, LOOKS = 0.02, 50
"""Seconds between looks at a worker that builds its case, and how many of them make a second."""
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
        self._standby = Standby(lambda request: self._begin(request, with_channel=True))
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
                return self._launch(assignment)

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

    def _start(self, request: Request) -> WorkerProcess:
        """The worker on standby where the request suits it; there is none beside any other."""
        ready = self._standby.call_up(request) if isinstance(request, Solo | Launch) else None
        if ready is not None:
            return ready
        self._standby.dismiss()
        return self._begin(request, with_channel=isinstance(request, LaneAlone))

    def _begin(self, request: Handed, *, with_channel: bool) -> WorkerProcess:
        timeout = self._settings.timeout
        return WorkerProcess(self._nursery, request, timeout=timeout, with_channel=with_channel)

    def _launch(self, assignment: LaunchAssignment) -> LaunchTrial:
        if assignment.settings.isolation is Isolation.SEPARATE:
            self._standby.dismiss()  # before the watch begins: what it took belongs to no launch
        watch = LaunchWatch(self._fork.pid if self._fork is not None else None)
        attendance = Attendance(start=self._start, learn=self._learn, tick=self._tick, watch=watch)
        return LAUNCHES[assignment.settings.isolation](assignment, attendance)

    def _attend(
        self, request: Request, assemble: Callable[..., T], *, learn: bool = True, standby: str | None = None
    ) -> T:
        """From start to end; `assemble` makes a trial of what it said, when, and how it died. Meanwhile
        another comes to stand by, with this device ready."""
        stopwatch = Stopwatch()
        worker = self._start(request)
        try:
            if standby is not None:
                self._prepare_next(worker, standby)
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

    def _prepare_next(self, worker: WorkerProcess, device: str) -> None:
        """Once this one has built its case, and has a context of its own: a device may allow only one."""
        for look in count():
            if worker.watch(LOOK):
                return
            if any(isinstance(event, Entered) and event.stage is Stage.STEP for event in worker.read()):
                self._standby.prepare(device)
                return
            if look % LOOKS == 0:
                self._tick()

    def _solo(self, assignment: SoloAssignment) -> SoloTrial:
        device = assignment.case.cell.device
        trial = self._passed_alone(assignment, standby=device if self._worth_a_standby(device) else None)
        if trial.outcome is Outcome.OUT_OF_MEMORY and self._standby.waits:
            self._standby.dismiss()  # its context may be what was missing
            return self._passed_alone(assignment, standby=None)
        return trial

    def _passed_alone(self, assignment: SoloAssignment, *, standby: str | None) -> SoloTrial:
        request = Solo(
            source=assignment.source,
            case=assignment.case,
            settings=assignment.settings,
            seed=assignment.seed,
        )
        return self._attend(request, partial(solo_trial, assignment), standby=standby)
