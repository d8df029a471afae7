"""`stepmark baseline`: names of stored runs, to compare others with."""

from __future__ import annotations

import time

import click

from stepmark.cli.options import store_option
from stepmark.errors import UsageError


@click.group("baseline")
def command() -> None:
    """Give stored runs a name to compare with."""


@command.command("save")
@click.argument("name")
@click.argument("run", default="latest", metavar="[RUN]")
@click.option("--force", is_flag=True, help="Take the name from the run that has it.")
@store_option
def save(name: str, run: str, force: bool, store: str | None) -> int:
    """Give a run, the latest if not named, a NAME to compare with."""
    from stepmark.published.references import reference_names
    from stepmark.store.location import store_url
    from stepmark.store.store import Store

    if name in reference_names():
        raise UsageError(
            f"'{name}' is a reference that comes with stepmark", remedy="give the run another name"
        )
    with Store.open(store_url(store), create=False) as opened:
        run_id = opened.resolve(run)
        opened.save_baseline(name, run_id, saved=time.time(), replace=force)
    click.echo(f"{name} is run {run_id}")
    return 0


@command.command("list")
@store_option
def list_(store: str | None) -> int:
    """List the names and their runs."""
    from rich.console import Console

    from stepmark.published.references import references
    from stepmark.report.baselines_table import baselines_table
    from stepmark.report.published_sheet import references_sheet
    from stepmark.store.location import store_url
    from stepmark.store.store import Store

    with Store.open(store_url(store), create=False) as opened:
        baselines = opened.baselines()
    console = Console(highlight=False)
    console.print(baselines_table(baselines))
    if known := references():
        console.print()
        console.print(references_sheet(known))
    return 0


@command.command("delete")
@click.argument("name")
@store_option
def delete(name: str, store: str | None) -> int:
    """Give up a NAME; its run stays in the store."""
    from stepmark.store.location import store_url
    from stepmark.store.store import Store

    with Store.open(store_url(store), create=False) as opened:
        run_id = opened.baseline(name)
        opened.delete_baseline(name, saved=time.time())
    click.echo(f"{name} is no baseline any more; run {run_id} stays in the store")
    return 0
