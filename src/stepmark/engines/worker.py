"""The worker: one process, one request, events to a journal."""

from __future__ import annotations

import os
import random
import socket
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch

from stepmark.authoring.load import check, load
from stepmark.authoring.suite import Suite
from stepmark.engines.triton_start import WORK_OUT, is_worked_out
from stepmark.engines.turns import take_turns
from stepmark.errors import StepmarkError
from stepmark.instruments.descendants import descendants_seconds
from stepmark.instruments.device_memory import release_device_memory
from stepmark.instruments.device_pace import glance_of, pace_of
from stepmark.instruments.displacement import displace
from stepmark.instruments.graph_capture import REPEATS
from stepmark.instruments.inspection.memory import overlook, remember_import, remember_start
from stepmark.instruments.torch_binding import bind
from stepmark.instruments.torch_ceilings import measure_ceilings
from stepmark.instruments.torch_clock import instrument_for
from stepmark.instruments.torch_facts import resolve_device, torch_facts
from stepmark.instruments.torch_gauges import TorchGauges
from stepmark.instruments.torch_profile import TorchProfiler
from stepmark.instruments.torch_ranges import with_ranges
from stepmark.instruments.torch_watch import TorchWatch
from stepmark.measure.failures import from_exception, user_traceback
from stepmark.measure.first_iterations import watch_start
from stepmark.measure.journal import JournalWriter
from stepmark.measure.lane import HostedLane
from stepmark.measure.launch import conduct
from stepmark.measure.profiler_cost import weigh_profiler
from stepmark.measure.program import Program
from stepmark.measure.protocol import (
    Began,
    CeilingsMeasured,
    Described,
    Entered,
    Event,
    Finished,
    LaneFailed,
    Refused,
)
from stepmark.measure.requests import (
    VERSION,
    Describe,
    FirstIterations,
    LaneAlone,
    Launch,
    MeasureCeilings,
    Request,
    Solo,
    TakeTrace,
    WeighProfiler,
)
from stepmark.measure.solo import pass_alone
from stepmark.measure.tracing import take_trace
from stepmark.measure.watch import ProcessSights
from stepmark.records.case import Case
from stepmark.records.outcome import Stage
from stepmark.records.source import BuiltinSource, FileSource, Source

Emit = Callable[[Event], None]


def work(request: Request, journal: JournalWriter, turns: socket.socket | None = None) -> None:
    """Do what the request asks; every end but the process's own is an event."""
    known = set(sys.modules)
    emit = journal.append
    if request.version != VERSION:
        emit(Refused(problem="runner and worker speak different protocols", remedy="reinstall stepmark"))
        return
    told = request if isinstance(request, Describe | MeasureCeilings) else request.settings
    threads = told.threads
    if threads is not None:
        torch.set_num_threads(threads)
    emit(Began(pid=os.getpid(), threads=torch.get_num_threads()))
    match request:
        case Describe():
            _describe(request, emit)
        case Solo():
            _solo(request, emit)
        case Launch():
            _launch(request, emit)
        case LaneAlone():
            assert turns is not None
            _lane_alone(request, emit, turns)
        case FirstIterations():
            _first_iterations(request, emit)
        case TakeTrace():
            _take_trace(request, emit)
        case WeighProfiler():
            _weigh_profiler(request, emit)
        case MeasureCeilings():
            emit(CeilingsMeasured(ceilings=measure_ceilings(request.device)))
    emit(
        Finished(
            modules=_worth_preloading(known, request),
            path=tuple(sys.path),
            descendants_seconds=descendants_seconds(),
        )
    )


def _worth_preloading(known: set[str], request: Request) -> tuple[str, ...]:
    """Modules imported on the way, but for bench files: those are the workers' own. And what else the next
    worker would have to work out again."""
    match request:
        case Describe():
            sources = request.sources
        case MeasureCeilings():
            sources = ()
        case _:
            sources = (request.source,)
    benches = {Path(source.path).stem for source in sources if isinstance(source, FileSource)}
    uninteresting = known | benches
    new = tuple(
        name
        for name, module in list(sys.modules.items())
        if name not in uninteresting and getattr(module, "__spec__", None)
    )
    return (*new, WORK_OUT) if is_worked_out() else new


def _describe(request: Describe, emit: Emit) -> None:
    suites: list[tuple[int, Suite]] = []
    try:
        for index, source in enumerate(request.sources):
            emit(Entered(stage=Stage.IMPORT, variant=_name(source)))
            suites += [(index, suite) for suite in load(source)]
        check(suite for _, suite in suites)
        device = resolve_device(request.device)
    except StepmarkError as error:
        emit(Refused(problem=error.problem, remedy=error.remedy))
    except BaseException as error:
        name = _name(request.sources[index])
        emit(
            Refused(
                problem=f"{name} failed to import: {from_exception(error, Stage.IMPORT).message}",
                remedy="fix the error above; the last frame of the traceback shows where",
                detail=user_traceback(error),
            )
        )
    else:
        outlines = tuple(suite.outline(index) for index, suite in suites)
        emit(Described(suites=outlines, torch=torch_facts(), device=device))


def _name(source: Source) -> str:
    match source:
        case FileSource():
            return Path(source.path).name
        case BuiltinSource():
            return source.name
        case _:
            return "the suite"


def _suite(source: Source, case: Case) -> Callable[[], Suite]:
    """The case's suite; the bench file is imported when it is first asked for, and once."""
    return cache(lambda: next(suite for suite in load(source) if suite.name == case.cell.suite))


class _Instances:
    """Builds one case, every time anew: the values and the place in memory differ from instance to instance,
    so that no result hangs on one draw. Values are the same for all variants of a cell, places are not."""

    def __init__(self, suite: Callable[[], Suite], case: Case, seed: str, *, repeats: int = REPEATS) -> None:
        """`repeats`: how often a graph holds a short call. Where ranges stand around calls, once."""
        self._suite, self._case, self._seed, self._repeats = suite, case, seed, repeats
        self._built = 0
        self.displacement: list[torch.Tensor] = []

    def __call__(self) -> Program:
        variant, instance = self._case.variant, f"{self._seed}/{self._built}"
        self._built += 1
        self.displacement = displace(random.Random(f"{instance}/{variant}"))
        seed = random.Random(instance).getrandbits(31)
        return bind(self._suite().variants[variant], self._case, seed=seed, repeats=self._repeats)


def _solo(request: Solo, emit: Emit) -> None:
    remember_start()
    suite = _suite(request.source, request.case)
    instances = _Instances(suite, request.case, request.seed)

    def build() -> Program:
        suite()
        remember_import()
        program = instances()
        overlook(instances.displacement)
        return program

    pass_alone(
        request.case.variant,
        build,
        instrument=instrument_for(request.case.cell.device),
        settings=request.settings,
        emit=emit,
    )


def _first_iterations(request: FirstIterations, emit: Emit) -> None:
    device = request.case.cell.device
    watch_start(
        request.case.variant,
        _Instances(_suite(request.source, request.case), request.case, request.seed),
        instrument=instrument_for(device),
        gauges=TorchGauges(device),
        iterations=request.iterations,
        emit=emit,
    )


def _take_trace(request: TakeTrace, emit: Emit) -> None:
    device = request.case.cell.device
    instances = _Instances(_suite(request.source, request.case), request.case, request.seed, repeats=1)
    take_trace(
        request.case.variant,
        (lambda: with_ranges(instances(), device)) if request.nvtx else instances,
        instrument=instrument_for(device),
        profiler=TorchProfiler(device),
        settings=request.settings,
        iterations=request.iterations,
        trace_file=request.trace_file,
        emit=emit,
    )


def _weigh_profiler(request: WeighProfiler, emit: Emit) -> None:
    device = request.case.cell.device
    weigh_profiler(
        request.case.variant,
        _Instances(_suite(request.source, request.case), request.case, request.seed, repeats=1),
        instrument=instrument_for(device),
        profiler=TorchProfiler(device),
        settings=request.settings,
        rounds=request.rounds,
        random=random.Random(request.seed),
        emit=emit,
    )


def _launch(request: Launch, emit: Emit) -> None:
    emit(Entered(stage=Stage.IMPORT))
    cell = request.cases[0].cell
    suite = _suite(request.source, request.cases[0])
    try:
        suite()
    except BaseException as error:
        emit(LaneFailed(variant=None, failure=from_exception(error, Stage.IMPORT)))
        return
    sights = ProcessSights(TorchWatch(cell.device), glance_of(cell.device))
    lanes = [
        HostedLane(
            case.variant,
            _Instances(suite, case, request.seed),
            instrument_for(cell.device),
            request.settings,
            sights=sights,
            release=release_device_memory,
        )
        for case in request.cases
    ]
    conduct(
        lanes,
        random=random.Random(request.seed),
        settings=request.settings,
        emit=emit,
        now=time.perf_counter,
        pace=pace_of(cell.device),
    )


def _lane_alone(request: LaneAlone, emit: Emit, turns: socket.socket) -> None:
    case = request.case
    lane = HostedLane(
        case.variant,
        _Instances(_suite(request.source, case), case, request.seed),
        instrument_for(case.cell.device),
        request.settings,
        sights=ProcessSights(TorchWatch(case.cell.device), glance_of(case.cell.device)),
        release=release_device_memory,
    )
    take_turns(lane, emit, turns)
