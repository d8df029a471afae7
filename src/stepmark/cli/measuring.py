"""Measuring for the command line: the pipeline with engine, store and progress, then report and exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from stepmark.cli.fail_on import FailOn, fail_on_named
from stepmark.cli.html_file import checked_html, write_html
from stepmark.cli.missing import runs_named
from stepmark.cli.options import accepted_of, command_line, policy_of, selection_of, settings_of
from stepmark.cli.previous_run import checked_against, print_against
from stepmark.cli.progress import progress_display
from stepmark.cli.screen import print_report
from stepmark.engines.local import LocalEngine
from stepmark.errors import Interrupted, StoreError
from stepmark.pipeline import Order, judged, measure, resume, ways_on
from stepmark.profiling import measure_costs
from stepmark.records.outcome import Outcome
from stepmark.records.profile import CostRecording
from stepmark.records.run import Judgement, Recording, Run, RunStatus
from stepmark.records.settings import Settings
from stepmark.records.source import Source
from stepmark.store.location import store_url
from stepmark.store.store import Store

FAILED_CASES = 3
COST_LAUNCHES = 5
"""Fresh processes in which the cost of profiling is measured."""


def measure_and_report(sources: tuple[Source, ...], options: dict[str, Any]) -> int:
    """A new run from the options; returns the exit code."""
    order = Order(
        sources=sources,
        settings=settings_of(options),
        policy=policy_of(options),
        selection=selection_of(options),
        elsewhere=tuple(runs_named(options.get("missing_from", ()), options["store"])),
        device=options["device"],
        command=command_line(),
    )
    return _conclude(order.settings, options, order=order)


def resume_and_report(reference: str, options: dict[str, Any]) -> int:
    """What a stored run is missing; returns the exit code."""
    with Store.open(store_url(options["store"]), create=False) as store:
        run = store.run(store.resolve(reference))
    return _conclude(run.settings, options, stored=run)


def _conclude(
    settings: Settings, options: dict[str, Any], *, order: Order | None = None, stored: Run | None = None
) -> int:
    fail_on, accepted = fail_on_named(options["fail_on"]), accepted_of(options["accept"])
    against = checked_against(options["against"], options["format_"], options["store"])
    html = checked_html(options["html"])
    with Store.open(store_url(options["store"])) as store, progress_display(options["quiet"]) as display:
        engine = LocalEngine(settings, start=options["start"], tick=display.tick)
        try:
            if order is not None:
                recording = measure(order, engine=engine, store=store, watcher=display)
            else:
                assert stored is not None
                recording = resume(stored.id, engine=engine, store=store, watcher=display)
            costs = _profile_costs(recording, engine, options)
        except Exception as stop:
            display.close()
            _show_unfinished(store, display.run_id, options["format_"], html)
            if isinstance(stop, Interrupted) and display.run_id is not None:
                stop.remedy = ways_on(display.run_id, store=store.place if options["store"] else None)
            raise
        finally:
            engine.close()
    if stored is not None and stored.status is RunStatus.COMPLETE:
        click.echo(_nothing_missing(stored), err=True)
    judgement = judged(recording, recording.run.policy.accepting(accepted))
    try:
        print_against(options["format_"], judgement, recording, against=against, store=options["store"])
        if costs:
            _print_costs(costs, options["format_"])
    finally:  # a reader that left, or a run of --against without a case in common, costs no report
        if html is not None:
            _write_report(judgement, recording, html)
    return exit_code(judgement, fail_on)


def _nothing_missing(run: Run) -> str:
    ended = f"run {run.id} came to its end, nothing of it is missing"
    return f"stepmark: {ended}; more launches are a new run"


def _profile_costs(
    recording: Recording, engine: LocalEngine, options: dict[str, Any]
) -> tuple[CostRecording, ...]:
    """What profiling costs each measured case, where it was asked for: a pass of its own, after the run."""
    if not options["profile_overhead"]:
        return ()
    run = recording.run
    sources = {outline.name: run.sources[outline.source_index] for outline in run.suites}
    failed = {solo.case.id for solo in recording.solos if solo.failure is not None}
    return measure_costs(
        [case for case in run.cases if case.id not in failed],
        source_of=lambda case: sources[case.cell.suite],
        settings=replace(run.settings, launches=COST_LAUNCHES),
        engine=engine,
    )


def _print_costs(costs: tuple[CostRecording, ...], format_: str) -> None:
    from rich.console import Console

    from stepmark.analysis.profile_cost import summarize_cost
    from stepmark.report.profile_overhead_table import overhead_sheet, render_overhead_markdown

    summaries = [summarize_cost(cost) for cost in costs]
    click.echo()
    if format_ == "markdown":
        click.echo(render_overhead_markdown(summaries), nl=False)
    else:
        Console(highlight=False).print(overhead_sheet(summaries))


def _write_report(judgement: Judgement, recording: Recording, html: Path) -> None:
    """Beside what is printed: a document on standard output stays as it is."""
    click.echo(f"report: {write_html(judgement, recording, html)}", err=True)


def _show_unfinished(store: Store, run_id: str | None, format_: str, html: Path | None) -> None:
    """Nothing that was measured is kept from the user because something went wrong later."""
    if run_id is None:
        return
    try:
        recording: Recording = store.load(run_id)
    except StoreError:
        return
    if recording.launches:
        judgement = judged(recording)
        print_report(format_, judgement, recording)
        click.echo(err=True)
        if html is not None:
            _write_report(judgement, recording, html)


def exit_code(judgement: Judgement, fail_on: FailOn) -> int:
    """1 where a --fail-on condition holds, 3 where a case could not be measured, else 0."""
    if fail_on.holds(judgement):
        return 1
    fine = {Outcome.MEASURED, Outcome.UNSUPPORTED, None}
    return 0 if all(case.outcome in fine for case in judgement.cases) else FAILED_CASES
