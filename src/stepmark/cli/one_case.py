"""What the commands that look at one case share: its options, its settings, and an engine for the while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from stepmark.cli.options import together

if TYPE_CHECKING:
    from stepmark.cli.stage_line import StageLine
    from stepmark.engines.local import LocalEngine
    from stepmark.records.settings import Settings

FAILED_LAUNCHES = 3
"""The exit code where some launches failed."""

case_option = click.option(
    "--case", "case", metavar="TEXT", help="A variant, a case id, or the beginning of one."
)

one_case_options = together(
    click.option("--set", "set_", multiple=True, metavar="AXIS=VALUES", help="Other values: features=512."),
    click.option("--dtype", metavar="NAME", help="Instead of the suite's: float32."),
    click.option("--mode", metavar="NAMES", help="Instead of the suite's: train; and how: graph, compiled."),
    click.option("--device", default="cpu", show_default=True, metavar="cpu|cuda|auto"),
    click.option("--threads", default="1", show_default=True, metavar="N|auto", help="Of torch's operators."),
    click.option("--seed", type=int, default=0, show_default=True, help="Parameters and inputs follow."),
    click.option(
        "--start",
        type=click.Choice(["fork", "spawn"]),
        default="fork",
        show_default=True,
        help="How workers start: forked from a server with torch imported, or as fresh interpreters.",
    ),
    click.option(
        "--format",
        "format_",
        type=click.Choice(["table", "markdown", "json"]),
        default="table",
        show_default=True,
    ),
    click.option("--quiet", is_flag=True, help="No progress display."),
)


def settings_of(options: dict[str, Any]) -> Settings:
    """Seed, launches, threads and timeout, as they were given."""
    from stepmark.cli.options import threads_of
    from stepmark.presets import make_settings
    from stepmark.units import parse_duration

    return make_settings(
        "standard",
        seed=options["seed"],
        launches=options["launches"],
        threads=threads_of(options["threads"]),
        timeout=parse_duration(options["timeout"]),
    )


@contextmanager
def engine_at_work(settings: Settings, *, start: str, quiet: bool) -> Iterator[tuple[LocalEngine, StageLine]]:
    """An engine and the line that says what it does; both are closed at the end."""
    from stepmark.cli.stage_line import stage_line
    from stepmark.engines.local import LocalEngine

    with stage_line(quiet=quiet) as line:
        line.say("starting workers")
        engine = LocalEngine(settings, start=start, tick=line.tick)
        try:
            yield engine, line
        finally:
            engine.close()
