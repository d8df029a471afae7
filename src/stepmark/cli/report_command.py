"""`stepmark report`: a stored run as one HTML file."""

from __future__ import annotations

import gc
from typing import Any

import click

from stepmark.cli.options import accept_option, store_option


@click.command("report")
@click.argument("run", default="latest", metavar="[RUN]")
@click.option("--html", metavar="FILE", help="The file to write; stepmark-RUN.html here if not given.")
@click.option("--open", "open_", is_flag=True, help="Open it in the browser.")
@click.option("--margin", metavar="FRACTION", help="Judge with another margin than the run's.")
@accept_option
@store_option
def command(run: str, html: str | None, **options: Any) -> int:
    """Write the report of a stored run: one HTML file that needs no network.

    RUN is its id, the beginning of it, or latest; or, of a reference that comes with stepmark, a suite:
    REFERENCE::SUITE. The path of the file is printed.
    """
    from msgspec.structs import replace

    from stepmark.cli.drawing import check_drawing
    from stepmark.cli.html_file import checked_html, default_name, write_html
    from stepmark.cli.named_run import file_name, named_run
    from stepmark.cli.options import accepted_of
    from stepmark.cli.stage_line import judging, stages_of
    from stepmark.pipeline import judged
    from stepmark.units import parse_fraction

    check_drawing()
    accepted, path = accepted_of(options["accept"]), checked_html(html)
    gc.disable()  # a million small records are made, kept and gone with the process: a tenth of the time
    recording = named_run(run, options["store"])
    policy = recording.run.policy.accepting(accepted)
    if options["margin"] is not None:
        policy = replace(policy, margin=parse_fraction(options["margin"]))
    with stages_of(recording) as line:
        line.say(judging(recording))
        judgement = judged(recording, policy)
        line.say("making the page")
        written = write_html(judgement, recording, path or default_name(file_name(run, recording)))
    click.echo(str(written))
    if options["open_"]:
        click.launch(written.as_uri())
    return 0
