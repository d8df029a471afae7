"""`stepmark run`: measure a bench file, a folder of them, or a built-in suite."""

from __future__ import annotations

from typing import Any

import click

from stepmark.cli.options import measuring_options
from stepmark.errors import UsageError


@click.command("run")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--set", "set_", multiple=True, metavar="AXIS=VALUES", help="Other values: features=512,1024.")
@click.option(
    "--filter",
    "filter_",
    multiple=True,
    metavar="CONDITION",
    help='Only cases like "features<2048"; of several, all must hold.',
)
@click.option(
    "--missing-from",
    multiple=True,
    metavar="RUN",
    help="Leave out cells of which this run or reference has a whole launch: coverage, not verdicts, since "
    "one launch gives none. What a bench file held then is not known here; may be repeated.",
)
@click.option("--resume", metavar="RUN", help="Go on with a stored run that was stopped.")
@measuring_options
def command(targets: tuple[str, ...], resume: str | None, **options: Any) -> int:
    """Measure a bench file or a built-in suite and print its verdicts.

    TARGET is a file (bench_mine.py), one suite of it (bench_mine.py::mylayer), a folder of bench files, or
    the name of a built-in suite.

    Exit codes: 0 fine, 1 a --fail-on condition holds, 2 usage, 3 some cases could not be measured, 130
    interrupted.
    """
    from stepmark.cli.measuring import measure_and_report, resume_and_report
    from stepmark.suites.targets import resolve

    if resume is not None:
        if targets:
            raise UsageError("--resume takes no targets", remedy="the run knows what it measures")
        if options["missing_from"]:
            raise UsageError(
                "--resume measures what its own run is missing",
                remedy="name targets instead of --resume for a new run of what is --missing-from another",
            )
        return resume_and_report(resume, options)
    if not targets:
        raise UsageError("nothing to run", remedy="name a bench file or a suite: `stepmark list` shows them")
    sources = tuple(dict.fromkeys(source for target in targets for source in resolve(target)))
    return measure_and_report(sources, options)
