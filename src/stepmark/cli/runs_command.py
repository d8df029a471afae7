"""`stepmark runs`: the stored runs, newest first, and the files that were imported."""

from __future__ import annotations

from datetime import datetime

import click

from stepmark.cli.options import store_option

_DATE = click.DateTime(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M"])


@click.command("runs")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N")
@click.option("--search", "text", metavar="WORDS", help="Only runs that mention every word.")
@click.option("--suite", metavar="NAME", help="Only runs of this suite.")
@click.option("--machine", metavar="HOST", help="Only runs measured on this machine.")
@click.option("--branch", metavar="NAME", help="Only runs made on this branch.")
@click.option("--since", type=_DATE, metavar="DATE", help="Only runs started then or later, in local time.")
@click.option("--until", type=_DATE, metavar="DATE", help="Only runs started before, in local time.")
@store_option
def command(
    *,
    limit: int,
    text: str | None,
    suite: str | None,
    machine: str | None,
    branch: str | None,
    since: datetime | None,
    until: datetime | None,
    store: str | None,
) -> int:
    """List the stored runs, newest first, and imported files below them."""
    from rich.console import Console

    from stepmark.cli.screen import print_runs
    from stepmark.report.imports_table import imports_table
    from stepmark.store.location import store_url
    from stepmark.store.store import Store

    with Store.open(store_url(store), create=False) as opened:
        page = opened.search(
            text,
            suite=suite,
            machine=machine,
            branch=branch,
            since=since.timestamp() if since else None,
            until=until.timestamp() if until else None,
            limit=limit,
        )
        chosen = any((text, suite, machine, branch, since, until))
        imports = () if chosen else opened.import_heads(limit)
    if chosen and not page.heads:
        click.echo("no run fits")
        return 0
    print_runs(page.heads)
    if imports:
        click.echo()
        Console(highlight=False).print(imports_table(imports))
    return 0
