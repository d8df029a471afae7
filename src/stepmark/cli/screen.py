"""The screen: reports and listings on standard output, as wide as the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stepmark.records.run import Judgement, Recording
    from stepmark.report.runs_table import RunHead
    from stepmark.suites.targets import BenchFile


def print_report(
    format_: str,
    judgement: Judgement,
    recording: Recording,
    *,
    phases: bool = False,
    previous: Recording | None = None,
) -> None:
    """Print a report; tables adapt to the terminal, other formats are bare text. `previous` is the run that
    the criterion format's change lines are about."""
    if format_ == "table":
        from stepmark.report.terminal import render_terminal

        _print(render_terminal(judgement, phases=phases))
        return
    from stepmark.report.formats import render

    text = render(format_, judgement, recording, previous=previous)
    click.echo(text, nl=not text.endswith("\n"))


def print_failures(judgement: Judgement) -> None:
    """Tracebacks and output of the cases that failed."""
    from stepmark.report.failure_details import failure_details

    _print(failure_details(judgement))


def print_runs(heads: Sequence[RunHead]) -> None:
    from stepmark.report.runs_table import runs_table

    _print(runs_table(heads))


def print_outlines(builtin: Mapping[str, str], files: Sequence[BenchFile]) -> None:
    """Built-in suites, then bench files with the suites their text names."""
    from stepmark.report.outline_table import OutlineRow, outline_table

    _print(
        outline_table(
            [OutlineRow(target=name, about=about) for name, about in builtin.items()],
            [OutlineRow(target=str(one.path), suites=one.suites, about=one.about) for one in files],
        )
    )


def _print(renderable: RenderableType) -> None:
    from rich.console import Console

    Console(highlight=False).print(renderable)
