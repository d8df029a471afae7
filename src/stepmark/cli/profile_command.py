"""`stepmark profile`: where the time and memory of a case go, and what looking cost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepmark.cli.one_case import FAILED_LAUNCHES, case_option, engine_at_work, one_case_options, settings_of

if TYPE_CHECKING:
    from stepmark.profiling import ProfileOrder
    from stepmark.records.profile import ProfileRecording
    from stepmark.report.profile_commands import NsightCommands

_PASSED_ON = ("dtype", "mode", "threads", "seed")
"""Options of one value that decide what a case is, besides --device and --case."""


@click.command("profile")
@click.argument("target")
@case_option
@click.option(
    "--iterations", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="To trace."
)
@click.option(
    "--launches",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    metavar="N",
    help="Fresh processes in which the cost of profiling is measured.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    metavar="N",
    help="Of each launch: a block without the profiler and one with it.",
)
@click.option("--trace", "trace", metavar="FILE", help="Write the trace for Perfetto: x.json, x.json.gz.")
@click.option("--nvtx", is_flag=True, help="NVTX ranges around phases, and command lines for nsys and ncu.")
@click.option(
    "--bare",
    type=click.IntRange(1),
    metavar="N",
    help="Only run N plain iterations in this process, for a profiler that is attached to it.",
)
@click.option(
    "--top", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Operations shown."
)
@click.option("--timeout", default="120s", show_default=True, metavar="TIME", help="For one round.")
@one_case_options
def command(target: str, **options: Any) -> int:
    """Profile one case with torch.profiler: operations, matrix products, gaps, memory, and what it cost.

    TARGET is a file (bench_mine.py), one suite of it (bench_mine.py::mylayer), or the name of a built-in
    suite. The profile is a pass of its own, never part of a measurement. Nothing is stored.

    Exit codes: 0 fine, 2 usage, 3 some launches failed, 130 interrupted.
    """
    order = _order(target, options)
    if options["bare"] is not None:
        return _run_plainly(order)
    recording = _measure(order, start=options["start"], quiet=options["quiet"])
    return _report(recording, options, _commands(target, recording, options) if options["nvtx"] else None)


def _order(target: str, options: dict[str, Any]) -> ProfileOrder:
    from stepmark.cli.options import command_line, selection_of
    from stepmark.profiling import ProfileOrder
    from stepmark.suites.targets import resolve

    return ProfileOrder(
        sources=resolve(target),
        iterations=options["bare"] or options["iterations"],
        rounds=options["rounds"],
        settings=settings_of(options),
        case=options["case"],
        selection=selection_of(options),
        device=options["device"],
        trace_file=_writable(options["trace"]) if options["trace"] else None,
        nvtx=options["nvtx"],
        command=command_line(),
    )


def _writable(name: str) -> str:
    """The absolute path of a file that can be written; found out before anything is measured."""
    from stepmark.errors import UsageError

    path = Path(name).resolve()
    if path.is_dir():
        raise UsageError(f"{name} is a folder", remedy="name a file: --trace trace.json")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}", remedy="make it, or name another for --trace")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{name} cannot be written", remedy="name another file for --trace")
    return str(path)


def _measure(order: ProfileOrder, *, start: str, quiet: bool) -> ProfileRecording:
    from stepmark.profiling import measure_profile

    with engine_at_work(order.settings, start=start, quiet=quiet) as (engine, line):
        return measure_profile(order, engine=engine, begins=line.say)


def _run_plainly(order: ProfileOrder) -> int:
    """In this process, which is why it imports torch: for once, it is the worker."""
    import importlib

    from stepmark.engines.local import worker_environment
    from stepmark.profiling import run_plainly
    from stepmark.report.format import plural

    os.environ.update(worker_environment(order.settings.threads))
    engine = importlib.import_module("stepmark.engines.in_process").InProcessEngine(order.settings.threads)
    done = run_plainly(order, engine=engine)
    said = "with NVTX ranges" if done.had_ranges else "without NVTX ranges"
    if order.nvtx and not done.had_ranges:
        said += ", which need a CUDA device"
    click.echo(f"{plural(order.iterations, 'iteration')} of {done.case.id}, {said}".replace("\u00a0", " "))
    return 0


def _commands(target: str, recording: ProfileRecording, options: dict[str, Any]) -> NsightCommands | None:
    """For the same case; where it ran on a CPU, for a machine with a GPU."""
    from msgspec.structs import replace

    from stepmark.report.profile_commands import nsight_commands

    case, layout = recording.case, recording.tracing.layout
    if layout is None:
        return None
    device = case.cell.device if case.cell.device != "cpu" else "cuda"
    there = replace(case, cell=replace(case.cell, device=device))
    words = ["python", "-m", "stepmark", "profile", target, "--case", there.id, "--device", device]
    words += [word for assignment in options["set_"] for word in ("--set", assignment)]
    given = [(name, options[name]) for name in _PASSED_ON if options[name] is not None]
    words += [word for name, value in given for word in (f"--{name}", str(value))]
    return nsight_commands(
        f"{case.cell.suite}-{case.variant}-{case.cell.point}",
        [*words, "--nvtx", "--bare"],
        iterations=recording.iterations,
        phases=[phase for phase in layout.phases if phase != layout.whole],
    )


def _report(recording: ProfileRecording, options: dict[str, Any], nsight: NsightCommands | None) -> int:
    from stepmark.analysis.profile import summarize_profile
    from stepmark.errors import StepmarkError
    from stepmark.report.profile_json import render_profile_json
    from stepmark.report.profile_markdown import render_profile_markdown
    from stepmark.report.profile_table import profile_sheet
    from stepmark.report.profile_view import build_profile_view, failed_tracing

    summary = summarize_profile(recording)
    if options["format_"] == "json":
        click.echo(render_profile_json(recording, summary), nl=False)
    elif summary is None:
        raise StepmarkError(failed_tracing(recording), remedy="--format json has traceback and output")
    else:
        view = build_profile_view(recording, summary, top=options["top"], nsight=nsight)
        if options["format_"] == "markdown":
            click.echo(render_profile_markdown(view), nl=False)
        else:
            from rich.console import Console

            Console(highlight=False).print(profile_sheet(view))
    failed = recording.tracing.failure or any(launch.failure for launch in recording.cost.launches)
    return FAILED_LAUNCHES if failed else 0
