"""`stepmark export`: a stored run as a file."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from stepmark.cli.options import store_option
from stepmark.errors import StoreError


@click.command("export")
@click.argument("run", default="latest", metavar="[RUN]")
@click.option(
    "--format",
    "format_",
    type=click.Choice(("jsonl", "csv", "markdown", "json", "criterion")),
    default="json",
    show_default=True,
)
@click.option("--output", "-o", metavar="FILE", help="Instead of standard output.")
@store_option
def command(run: str, format_: str, output: str | None, store: str | None) -> int:
    """Write a stored run as JSON, JSON lines, CSV, Markdown or Criterion's text.

    Raw samples are in json and jsonl.
    """
    from stepmark.pipeline import judged
    from stepmark.report.formats import render
    from stepmark.store.location import store_url
    from stepmark.store.store import Store

    gc.disable()  # a million small records are made, kept and gone with the process: a tenth of the time
    with Store.open(store_url(store), create=False) as opened:
        recording = opened.load(opened.resolve(run))
    text = render(format_, judged(recording), recording)
    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
        return 0
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {output}: {error.strerror}", remedy="name another file") from None
    return 0
