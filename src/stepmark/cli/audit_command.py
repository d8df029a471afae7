"""`stepmark audit`: the findings of a stored run, computed anew."""

from __future__ import annotations

import gc

import click

from stepmark.cli.options import accept_option, store_option

FORMATS = ("table", "markdown", "json")


@click.command("audit")
@click.argument("run", default="latest", metavar="[RUN]")
@accept_option
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@store_option
def command(run: str, accept: tuple[str, ...], format_: str, store: str | None) -> int:
    """Audit a stored run anew, by the rules of this version: findings by case, the gravest first.

    Nothing is measured: the rules look at what was recorded. RUN is an id, the beginning of one, the name of
    a baseline, or latest.

    Exit codes: 0 fine, 1 there is an error that is not accepted, 2 usage.
    """
    from stepmark.cli.options import accepted_of
    from stepmark.pipeline import judged
    from stepmark.report.audit_view import build_audit
    from stepmark.store.location import store_url
    from stepmark.store.store import Store

    accepted = accepted_of(accept)
    gc.disable()  # a million small records are made, kept and gone with the process: a tenth of the time
    with Store.open(store_url(store), create=False) as opened:
        recording = opened.load(opened.resolve(run))
    view = build_audit(judged(recording, recording.run.policy.accepting(accepted)), recording)
    if format_ == "table":
        from rich.console import Console

        from stepmark.report.audit_table import audit_table

        Console(highlight=False).print(audit_table(view))
    else:
        from stepmark.report.audit_formats import render_audit

        click.echo(render_audit(format_, view), nl=False)
    return int(view.num_errors > 0)
