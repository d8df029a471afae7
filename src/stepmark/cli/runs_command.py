"""`stepmark runs`: the stored runs, newest first, and the files that were imported."""

from __future__ import annotations

import click

from stepmark.cli.options import store_option


@click.command("runs")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N")
@store_option
def command(limit: int, store: str | None) -> int:
    """List the stored runs, newest first, and imported files below them."""
    from rich.console import Console

    from stepmark.cli.screen import print_runs
    from stepmark.report.imports_table import imports_table
    from stepmark.store.location import store_url
    from stepmark.store.store import Store

    with Store.open(store_url(store), create=False) as opened:
        print_runs(opened.heads(limit))
        imports = opened.import_heads(limit)
    if imports:
        click.echo()
        Console(highlight=False).print(imports_table(imports))
    return 0
