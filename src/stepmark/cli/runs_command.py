"""`stepmark runs`: the stored runs, newest first."""

from __future__ import annotations

import click

from stepmark.cli.options import store_option


@click.command("runs")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N")
@store_option
def command(limit: int, store: str | None) -> int:
    """List the stored runs, newest first."""
    from stepmark.cli.screen import print_runs
    from stepmark.store.location import store_url
    from stepmark.store.store import Store

    with Store.open(store_url(store), create=False) as opened:
        print_runs(opened.heads(limit))
    return 0
