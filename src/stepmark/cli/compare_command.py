"""`stepmark compare`: two stored runs that were not interleaved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stepmark.cli.options import failing_verdicts, store_option

if TYPE_CHECKING:
    from stepmark.records.comparison import Comparison
    from stepmark.records.verdict import VerdictKind

FORMATS = ("table", "markdown", "csv", "json")
NOT_COMPARED = 3


@click.command("compare")
@click.argument("baseline", metavar="A")
@click.argument("candidate", default="latest", metavar="[B]")
@click.option(
    "--margin",
    default="1%",
    show_default=True,
    metavar="FRACTION",
    help="Differences smaller than this do not matter.",
)
@click.option(
    "--centre",
    type=click.Choice(["minimum", "median"]),
    default="minimum",
    show_default=True,
    help="What stands for a launch.",
)
@click.option("--phases", is_flag=True, help="Every phase with its own ratio and verdict.")
@click.option("--allow", metavar="WHAT", help="Differences to compare across: threads,dtype or all.")
@click.option(
    "--fail-on",
    metavar="VERDICTS",
    help="Exit with 1 if any verdict is one of these: slower,inconclusive,invalid.",
)
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@store_option
def command(baseline: str, candidate: str, **options: Any) -> int:
    """Compare run B (the latest, if not named) with run A; both are stored, and were not interleaved.

    A and B are ids, beginnings of ids, names of baselines, latest, or latest~1 for the run before it. What
    was not interleaved shares no mood of the machine: small differences stay INCONCLUSIVE.

    Exit codes: 0 fine, 1 a --fail-on condition holds, 2 usage, 3 some cases could not be compared.
    """
    from stepmark.comparing import compare_stored
    from stepmark.records.comparison import Terms, aspects_allowed, centre_named
    from stepmark.records.settings import Policy
    from stepmark.store.location import store_url
    from stepmark.store.store import Store
    from stepmark.units import parse_fraction

    fail_on = failing_verdicts(options)
    names = [name.strip() for name in (options["allow"] or "").split(",") if name.strip()]
    terms = Terms(
        policy=Policy(margin=parse_fraction(options["margin"])),
        centre=centre_named(options["centre"]),
        allow=aspects_allowed(names),
    )
    with Store.open(store_url(options["store"]), create=False) as store:
        comparison = compare_stored(store, baseline, candidate, terms=terms)
    print_comparison(options["format_"], comparison, phases=options["phases"])
    return exit_code(comparison, fail_on)


def print_comparison(format_: str, comparison: Comparison, *, phases: bool = False) -> None:
    """Tables adapt to the terminal, other formats are bare text."""
    if format_ == "table":
        from rich.console import Console

        from stepmark.report.comparison_table import comparison_table

        Console(highlight=False).print(comparison_table(comparison, phases=phases))
        return
    from stepmark.report.comparison_formats import render_comparison

    click.echo(render_comparison(format_, comparison, phases=phases), nl=False)


def exit_code(comparison: Comparison, fail_on: frozenset[VerdictKind]) -> int:
    """1 where a --fail-on condition holds, 3 where a case failed or was refused, else 0."""
    from stepmark.records.verdict import VerdictKind

    kinds = {case.primary.kind for case in comparison.cases}
    if kinds & fail_on:
        return 1
    return NOT_COMPARED if VerdictKind.INVALID in kinds else 0
