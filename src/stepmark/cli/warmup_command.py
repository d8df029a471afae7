"""`stepmark warmup`: the first iterations of a case, and why they are slow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stepmark.cli.one_case import FAILED_LAUNCHES, case_option, engine_at_work, one_case_options, settings_of

if TYPE_CHECKING:
    from stepmark.records.warmup import WarmupRecording
    from stepmark.warming import WarmupOrder


@click.command("warmup")
@click.argument("target")
@case_option
@click.option("--iterations", type=click.IntRange(1), default=50, show_default=True, metavar="N")
@click.option(
    "--launches",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    metavar="N",
    help="Fresh processes, each with its own first iterations.",
)
@click.option("--timeout", default="120s", show_default=True, metavar="TIME", help="For one iteration.")
@one_case_options
def command(target: str, **options: Any) -> int:
    """Look at the first iterations of one case, one by one, and at why they are slow.

    TARGET is a file (bench_mine.py), one suite of it (bench_mine.py::mylayer), or the name of a built-in
    suite. Nothing is stored.

    Exit codes: 0 fine, 2 usage, 3 some launches failed, 130 interrupted.
    """
    from stepmark.cli.options import command_line, selection_of
    from stepmark.suites.targets import resolve
    from stepmark.warming import WarmupOrder

    order = WarmupOrder(
        sources=resolve(target),
        iterations=options["iterations"],
        settings=settings_of(options),
        case=options["case"],
        selection=selection_of(options),
        device=options["device"],
        command=command_line(),
    )
    recording = _measure(order, start=options["start"], quiet=options["quiet"])
    return _report(recording, options["format_"])


def _measure(order: WarmupOrder, *, start: str, quiet: bool) -> WarmupRecording:
    from stepmark.warming import measure_warmup

    launches = order.settings.launches
    with engine_at_work(order.settings, start=start, quiet=quiet) as (engine, line):
        return measure_warmup(
            order,
            engine=engine,
            begins=lambda number: line.say(f"launch {number + 1} of {launches}"),
        )


def _report(recording: WarmupRecording, format_: str) -> int:
    from stepmark.analysis.warmup import summarize_warmup
    from stepmark.errors import StepmarkError
    from stepmark.report.warmup_json import render_warmup_json
    from stepmark.report.warmup_markdown import render_warmup_markdown
    from stepmark.report.warmup_table import warmup_sheet
    from stepmark.report.warmup_view import build_warmup_view, failed_launches

    summary = summarize_warmup(recording)
    if format_ == "json":
        click.echo(render_warmup_json(recording, summary), nl=False)
    elif summary is None:
        raise StepmarkError(failed_launches(recording), remedy="--format json has tracebacks and output")
    elif format_ == "markdown":
        click.echo(render_warmup_markdown(build_warmup_view(recording, summary)), nl=False)
    else:
        from rich.console import Console

        Console(highlight=False).print(warmup_sheet(build_warmup_view(recording, summary)))
    return FAILED_LAUNCHES if any(trial.failure for trial in recording.trials) else 0
