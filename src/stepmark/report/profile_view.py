"""The view of a profile: its tables and sentences as text, for every format that shows them."""

from __future__ import annotations

from typing import NamedTuple

from stepmark.records.profile import (
    Idle,
    MemoryProfile,
    OperationTime,
    PhaseCost,
    PhaseProfile,
    ProfileRecording,
    ProfileSummary,
)
from stepmark.report import format as show
from stepmark.report.profile_commands import NsightCommands
from stepmark.report.text_table import TextTable

_PRODUCT = " ×"
"""Behind the name of a matrix product."""


class OperationsTable(NamedTuple):
    """The operations of one phase."""

    title: str
    table: TextTable


class ProfileView(NamedTuple):
    """What a report of a profile shows, in reading order."""

    title: str
    context: tuple[str, ...]
    phases: TextTable
    idle: TextTable
    operations: tuple[OperationsTable, ...]
    products: str
    memory: MemoryProfile
    memory_title: str
    peak: str
    cost: TextTable | None
    cost_title: str
    nsight: tuple[str, ...]
    """Sentences and command lines; empty where they were not asked for."""
    failures: tuple[str, ...]
    facts: tuple[str, ...]


def build_profile_view(
    recording: ProfileRecording,
    summary: ProfileSummary,
    *,
    top: int,
    nsight: NsightCommands | None = None,
) -> ProfileView:
    """Text for every number, in the order a reader needs it; `top` operations of each phase."""
    cell, process = recording.case.cell, recording.tracing.process
    threads = show.plural(process.threads, "thread") if process else ""
    return ProfileView(
        title=f"{cell.suite}/{recording.case.variant}" + (f"[{cell.point}]" if cell.point else ""),
        context=(cell.device, cell.dtype, cell.mode.value, *cell.regime, threads),
        phases=_phases(summary),
        idle=_idle(summary),
        operations=tuple(_operations(phase, top, summary.on_device) for phase in summary.phases),
        products=f"{_PRODUCT.strip()} a matrix product",
        memory=summary.memory,
        memory_title=f"memory on the {cell.device} through the last iteration traced, above its start",
        peak=_peak(summary.memory),
        cost=cost_table(summary.cost) if summary.cost else None,
        cost_title="what profiling cost: the same iterations without and with the profiler, in turn",
        nsight=_nsight(recording, nsight) if nsight is not None else (),
        failures=_failures(recording),
        facts=_facts(recording, summary),
    )


def failed_tracing(recording: ProfileRecording) -> str:
    """Why there is nothing to show, where nothing was traced."""
    failure = recording.tracing.failure
    return f"{failure.outcome} in {failure.stage}: {failure.message}" if failure else "nothing was traced"


def _phases(summary: ProfileSummary) -> TextTable:
    head = ("phase", "profiled time", "matrix products", "peak memory", "held after it")
    rows = [
        (
            phase.phase,
            show.seconds(phase.seconds),
            percent(phase.products_share),
            show.size(memory.peak_bytes),
            show.size(memory.held_bytes),
        )
        for phase, memory in zip(summary.phases, summary.memory.phases, strict=True)
    ]
    return TextTable((head, *rows), "lrrrr")


def _idle(summary: ProfileSummary) -> TextTable:
    head = ("phase", "idle on the", "gaps", "longest", "together", "of the phase")
    rows = []
    for phase in summary.phases:
        rows.append(_gaps(phase.phase, "host", phase.idle))
        if phase.device_idle is not None:
            rows.append(_gaps("", "accelerator", phase.device_idle))
    return TextTable((head, *rows), "llrrrr")


def _gaps(phase: str, where: str, idle: Idle) -> tuple[str, ...]:
    longest, together = show.seconds(idle.longest_seconds), show.seconds(idle.seconds)
    return phase, where, show.count(idle.gaps), longest, together, percent(idle.share)


def _operations(phase: PhaseProfile, top: int, on_device: bool) -> OperationsTable:
    shown, others = phase.operations[:top], phase.operations[top:]
    rows = [_operation(row) for row in shown]
    if others:
        calls, own = sum(row.calls for row in others), sum(row.self_seconds for row in others)
        share = sum(row.share for row in others)
        name = f"{len(others)} others" if len(others) > 1 else "1 other"
        rows.append((name, show.count(calls), show.seconds(own), "", percent(share)))
    clock = "on the accelerator" if on_device else "on the host"
    head = ("operation", "calls", "own time", "with inner", "of the phase")
    return OperationsTable(
        title=f"{phase.phase}: operations by their own time {clock}",
        table=TextTable((head, *rows), "lrrrr"),
    )


def _operation(row: OperationTime) -> tuple[str, ...]:
    own, total = show.seconds(row.self_seconds), show.seconds(row.total_seconds)
    name = row.name + (_PRODUCT if row.is_product else "")
    return name, show.count(row.calls), own, total, percent(row.share)


def _peak(memory: MemoryProfile) -> str:
    where = f"in {memory.peak_phase}" if memory.peak_phase else "between phases"
    who = f", by {memory.peak_operation}" if memory.peak_operation else ""
    after = show.seconds(memory.peak.seconds)
    return f"peak {show.size(memory.peak.num_bytes)} after {after}, {where}{who}"


def cost_table(costs: tuple[PhaseCost, ...]) -> TextTable:
    """As the published table of a profiler's cost: a row a phase."""
    level = show.percent(costs[0].ratio.confidence)
    head = ("phase", "unprofiled", "profiled", "ratio", f"{level} interval")
    rows = [
        (
            cost.phase,
            show.seconds(cost.unprofiled),
            show.seconds(cost.profiled),
            show.ratio(cost.ratio),
            show.interval(cost.ratio),
        )
        for cost in costs
    ]
    return TextTable((head, *rows), "lrrrr")


def _nsight(recording: ProfileRecording, commands: NsightCommands) -> tuple[str, ...]:
    emitted = recording.case.cell.device != "cpu"
    said = (
        "NVTX ranges were put around the phases; the same case"
        if emitted
        else "no NVTX ranges were emitted: this case ran on a CPU. With a GPU, the same case"
    )
    plainly = f"{said} plainly, under Nsight Systems and Nsight Compute:"
    return (plainly, *commands.nsys, *commands.stats, *commands.ncu)


def _failures(recording: ProfileRecording) -> tuple[str, ...]:
    return tuple(
        f"cost, launch {launch.number}: {launch.failure.outcome} in {launch.failure.stage}, after "
        f"{show.plural(len(launch.rounds), 'round')}: {launch.failure.message}"
        for launch in recording.cost.launches
        if launch.failure is not None
    )


def _facts(recording: ProfileRecording, summary: ProfileSummary) -> tuple[str, ...]:
    ended = [launch for launch in recording.cost.launches if launch.failure is None]
    lacking = recording.case.cell.device != "cpu" and not summary.on_device
    return (
        f"{show.plural(recording.iterations, 'iteration')} traced, of each phase the median one",
        *(("no kernels were recorded: times are the host's",) if lacking else ()),
        *((f"trace in {recording.trace_file}",) if recording.trace_file else ()),
        *((_rounds(len(ended), recording.cost.rounds),) if ended else ()),
        recording.environment.host.cpu_model,
        *recording.environment.torch.devices[:1],
        f"torch {recording.environment.torch.version}",
        f"stepmark {recording.environment.stepmark}",
        "not stored",
    )


def _rounds(launches: int, rounds: int) -> str:
    return f"cost: {show.plural(launches, 'launch')} × {show.plural(rounds, 'round')}"


def percent(fraction: float) -> str:
    """`43 %`, `2.1 %`, `0.3 %`."""
    return f"{100.0 * fraction:.{0 if fraction >= 0.0995 else 1}f}{show.NBSP}%"
