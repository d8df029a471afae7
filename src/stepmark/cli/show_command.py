"""`stepmark show`: a stored run again, judged anew."""

from __future__ import annotations

import gc
from typing import Any

import click

from stepmark.cli.options import accept_option, format_option, store_option


@click.command("show")
@click.argument("run", default="latest", metavar="[RUN]")
@click.option("--margin", metavar="FRACTION", help="Judge with another margin than the run's.")
@click.option("--phases", is_flag=True, help="Every phase of every cell, also in a large sweep.")
@click.option("--failures", is_flag=True, help="Tracebacks and output of the cases that failed.")
@accept_option
@click.option("--against", metavar="RUN", help="Compare with another stored run or baseline too, unpaired.")
@format_option
@store_option
def command(run: str, margin: str | None, **options: Any) -> int:
    """Show a stored run: its id, the beginning of it, or latest; or, of a reference that comes with stepmark,
    a suite: REFERENCE::SUITE."""
    from msgspec.structs import replace

    from stepmark.cli.named_run import named_run
    from stepmark.cli.options import accepted_of
    from stepmark.cli.previous_run import checked_against, print_against
    from stepmark.cli.screen import print_failures
    from stepmark.cli.stage_line import judging, stages_of
    from stepmark.pipeline import judged
    from stepmark.units import parse_fraction

    accepted = accepted_of(options["accept"])
    against = checked_against(options["against"], options["format_"], options["store"])
    gc.disable()  # a million small records are made, kept and gone with the process: a tenth of the time
    recording = named_run(run, options["store"])
    policy = recording.run.policy.accepting(accepted)
    if margin is not None:
        policy = replace(policy, margin=parse_fraction(margin))
    with stages_of(recording) as line:
        line.say(judging(recording))
        judgement = judged(recording, policy)
    if options["failures"]:
        print_failures(judgement)
    else:
        print_against(
            options["format_"],
            judgement,
            recording,
            against=against,
            store=options["store"],
            phases=options["phases"],
        )
    return 0
