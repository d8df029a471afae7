"""The worker: one process, one request, events to a journal."""

from __future__ import annotations

import os
import random
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from stepmark.authoring.load import check, load
from stepmark.authoring.suite import Suite
from stepmark.engines.instances import Instances, suite_of
from stepmark.engines.request_file import read_request
from stepmark.engines.triton_start import WORK_OUT, is_worked_out
from stepmark.engines.turns import take_turns
from stepmark.errors import StepmarkError
from stepmark.instruments.descendants import descendants_seconds
from stepmark.instruments.device_memory import make_ready, release_device_memory
from stepmark.instruments.device_pace import glance_of, pace_of
from stepmark.instruments.inspection.memory import overlook, remember_import, remember_start
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
    Handed,
    LaneAlone,
    Launch,
    MeasureCeilings,
    Request,
    Solo,
    StandBy,
    TakeTrace,
    WeighProfiler,
)
from stepmark.measure.solo import pass_alone
from stepmark.measure.tracing import take_trace
from stepmark.measure.watch import ProcessSights
from stepmark.records.outcome import Stage
from stepmark.records.source import BuiltinSource, FileSource, Source

Emit = Callable[[Event], None]


def work(handed: Handed, journal: JournalWriter, channel: socket.socket | None = None) -> None:
    """Do what the request asks, at once or when it is called up."""
    known = set(sys.modules)
    if not isinstance(handed, StandBy):
        _work(handed, journal.append, channel, known=known)
        return
    assert channel is not None
    request = _stand_by(handed, channel)
    if request is not None:
        _work(request, journal.append, None, known=known, spent_before=time.process_time())


def _work(
    request: Request, emit: Emit, channel: socket.socket | None, *, known: set[str], spent_before: float = 0.0
) -> None:
    """Every end but the process's own is an event."""
    if request.version != VERSION:
        emit(Refused(problem="runner and worker speak different protocols", remedy="reinstall stepmark"))
        return
    told = request if isinstance(request, Describe | MeasureCeilings) else request.settings
    threads = told.threads
    if threads is not None:
        torch.set_num_threads(threads)
    emit(Began(pid=os.getpid(), threads=torch.get_num_threads(), spent_before=spent_before))
    match request:
        case Describe():
            _describe(request, emit)
        case Solo():
            _solo(request, emit)
        case Launch():
            _launch(request, emit)
        case LaneAlone():
            assert channel is not None
            _lane_alone(request, emit, channel)
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


def _stand_by(request: StandBy, channel: socket.socket) -> Request | None:
    """Sleeps until there is a request; None where the runner has gone, or has no use for it. Who cannot make
    the device ready ends: what is wrong with it is to be said by whoever begins anew and needs it."""
    make_ready(torch.device(request.device))
    with channel:
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    if not descriptors:
        return None
    called_up = read_request(descriptors[0])
    assert not isinstance(called_up, StandBy)
    return called_up


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


def _solo(request: Solo, emit: Emit) -> None:
    remember_start()
    suite = suite_of(request.source, request.case)
    instances = Instances(suite, request.case, request.seed)

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
        Instances(suite_of(request.source, request.case), request.case, request.seed),
        instrument=instrument_for(device),
        gauges=TorchGauges(device),
        iterations=request.iterations,
        emit=emit,
    )


def _take_trace(request: TakeTrace, emit: Emit) -> None:
    device = request.case.cell.device
    instances = Instances(suite_of(request.source, request.case), request.case, request.seed, repeats=1)
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
        Instances(suite_of(request.source, request.case), request.case, request.seed, repeats=1),
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
    suite = suite_of(request.source, request.cases[0])
    try:
        suite()
    except BaseException as error:
        emit(LaneFailed(variant=None, failure=from_exception(error, Stage.IMPORT)))
        return
    sights = ProcessSights(TorchWatch(cell.device), glance_of(cell.device))
    lanes = [
        HostedLane(
            case.variant,
            Instances(suite, case, request.seed),
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
        Instances(suite_of(request.source, case), case, request.seed),
        instrument_for(case.cell.device),
        request.settings,
        sights=ProcessSights(TorchWatch(case.cell.device), glance_of(case.cell.device)),
        release=release_device_memory,
    )
    take_turns(lane, emit, turns)
