"""The command line: one file a command, imported when it is asked for."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
from types import FrameType
from typing import Any

import click

from stepmark.errors import StepmarkError
from stepmark.version import VERSION

COMMANDS = {
    "run": "Measure a bench file or a built-in suite and print its verdicts.",
    "versus": "Compare modules written on the command line: no file at all.",
    "list": "List built-in suites and the bench files here.",
    "show": "Show a stored run again, judged anew.",
    "report": "Write a stored run as one HTML file, with figures and evidence.",
    "plot": "Draw a stored run: charts as SVG or PNG files.",
    "audit": "Audit a stored run anew: every finding with numbers and remedy.",
    "explain": "Explain a finding: its evidence, why it matters, how to mend it.",
    "runs": "List the stored runs.",
    "compare": "Compare two stored runs that were not interleaved.",
    "baseline": "Give stored runs a name to compare with.",
    "serve": "Serve the stored runs as pages: reports, histories, an API.",
    "warmup": "Look at the first iterations of a case, and why they are slow.",
    "profile": "Profile a case: operations, gaps, memory, and what profiling costs.",
    "doctor": "Find what disturbs measurements on this machine.",
    "published": "Show published benchmark results, and what is wrong with them.",
    "import": "Read a result file of another tool into the store.",
    "export": "Write a stored run as JSON, CSV, Markdown or in a published format.",
}
"""Name and help of each command; its module in this package is imported when it is used."""

READER_LEFT = 128 + signal.SIGPIPE
"""The exit code of programs that a signal ended, as a shell tells it."""


FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
"""How a place says that it takes no more."""


class _LazyGroup(click.Group):
    """A group whose commands are imported one at a time: `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"stepmark.cli.{name}_command")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the commands are: {', '.join(COMMANDS)}"
            raise StepmarkError(f"there is no command '{args[0]}'", remedy=hint) from error


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="stepmark")
def cli() -> None:
    """Training-step benchmarks you can believe: a verdict, not a number."""


def main() -> None:
    """Entry of the `stepmark` command: errors become two lines and an exit code."""
    signal.signal(signal.SIGTERM, _stop)
    reader = sys.stdout
    try:
        code = cli.main(standalone_mode=False)
    except StepmarkError as error:
        complain(error)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except OSError as error:
        if error.errno not in FULL:
            raise
        _give_up_output()
        remedy = "make room, or write elsewhere: what was measured is in the store"
        complain(StepmarkError(f"the output cannot be written: {error.strerror}", remedy=remedy))
        sys.exit(StepmarkError.exit_code)
    except SystemExit as end:
        # The reader of our output left (`| head`). click then wraps the streams, Rich ends while it handles
        # the error, and both exit with 1, which here says that a --fail-on condition holds.
        if sys.stdout is reader and not isinstance(end.__context__, BrokenPipeError):
            raise
        sys.exit(READER_LEFT)
    sys.exit(code if isinstance(code, int) else 0)


def _give_up_output() -> None:
    """What is in the buffer would fail once more as the interpreter ends, with an exit code of its own."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def complain(error: StepmarkError) -> None:
    """What is wrong and what to do, on standard error."""
    if error.detail:
        click.echo(error.detail.rstrip(), err=True)
    click.echo(f"stepmark: {error.problem}", err=True)
    if error.remedy:
        click.echo(f"  {error.remedy}", err=True)
