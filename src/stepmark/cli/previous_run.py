"""What --against adds to a report: an unpaired comparison, Criterion's change lines, or published numbers."""

from __future__ import annotations

import click

from stepmark.cli.screen import print_report
from stepmark.errors import UsageError
from stepmark.published.references import reference_names, reference_run
from stepmark.records.run import Judgement, Recording
from stepmark.store.location import store_url
from stepmark.store.store import Store

FORMATS = ("table", "markdown", "criterion")
"""A comparison can stand below these; the others are one document each."""
PUBLISHED = "published"
"""Not a run: the published results that come with stepmark."""


def checked_against(reference: str | None, format_: str, store: str | None) -> str | None:
    """The id of the run, or the reference, that --against names, looked up before anything is measured."""
    if reference is None:
        return None
    if format_ not in FORMATS:
        raise UsageError(
            f"--against prints a comparison below the report, which --format {format_} has no place for",
            remedy=f"use one of {', '.join(FORMATS)}, or stepmark compare {reference} --format {format_}",
        )
    if reference == PUBLISHED or reference in reference_names():
        return reference
    with Store.open(store_url(store), create=False) as opened:
        return opened.resolve(reference)


def print_against(
    format_: str,
    judgement: Judgement,
    recording: Recording,
    *,
    against: str | None,
    store: str | None,
    phases: bool = False,
) -> None:
    """The report, and what --against adds to it."""
    if against is None:
        print_report(format_, judgement, recording, phases=phases)
        return
    if against == PUBLISHED:
        print_report(format_, judgement, recording, phases=phases)
        _print_published(judgement)
        return
    from stepmark.cli.compare_command import print_comparison
    from stepmark.comparing import compare_stored

    with Store.open(store_url(store), create=False) as opened:
        if format_ == "criterion":
            print_report(format_, judgement, recording, previous=_previous(opened, against, recording))
            return
        print_report(format_, judgement, recording, phases=phases)
        click.echo()
        print_comparison(format_, compare_stored(opened, against, recording), phases=phases)


def _previous(store: Store, against: str, recording: Recording) -> Recording:
    if against not in reference_names():
        return store.load(against)
    return reference_run(against, [outline.name for outline in recording.run.suites])


def _print_published(judgement: Judgement) -> None:
    from rich.console import Console

    from stepmark.published.beside import beside
    from stepmark.report.published_table import published_table

    click.echo()
    Console(highlight=False).print(published_table(beside(judgement)))
