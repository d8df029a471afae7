"""The screen: reports go to standard output, as wide as the terminal."""

from __future__ import annotations

import sys

import click

from stepmark.records.run import Judgement, Recording


def print_report(format_: str, judgement: Judgement, recording: Recording, *, phases: bool = False) -> None:
    """Print a report; tables adapt to the terminal, other formats are bare text."""
    if format_ == "table":
        from rich.console import Console

        from stepmark.report.terminal import render_terminal

        console = Console(soft_wrap=False, highlight=False)
        console.print(render_terminal(judgement, width=console.width, phases=phases))
        return
    from stepmark.report.formats import render

    text = render(format_, judgement, recording)
    click.echo(text, nl=not text.endswith("\n"))
    sys.stdout.flush()
