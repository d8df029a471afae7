"""`stepmark published`: the published results that come with stepmark, and what is wrong with them."""

from __future__ import annotations

import click

from stepmark.errors import UsageError


@click.command("published")
@click.argument("name", required=False, metavar="[NAME]")
@click.option(
    "--format", "format_", metavar="FORMAT", help="Print the file as it was published, from records."
)
def command(name: str | None, format_: str | None) -> int:
    """List the published results and references, or show a result: tables, corrections and defects."""
    if name is None:
        if format_ is not None:
            raise UsageError("--format of which result?", remedy="stepmark published lora --format criterion")
        return _list()
    return _show(name) if format_ is None else _print_file(name, format_)


def _list() -> int:
    from rich.console import Console

    from stepmark.published.catalogue import PUBLICATIONS
    from stepmark.published.defects import defects_of
    from stepmark.published.references import references
    from stepmark.report.published_sheet import publications_sheet, references_sheet

    numbers = [len(defects_of(name)) for name in PUBLICATIONS]
    console = Console(highlight=False)
    console.print(publications_sheet(list(PUBLICATIONS.values()), numbers))
    if known := references():
        console.print()
        console.print(references_sheet(known))
    return 0


def _show(name: str) -> int:
    from rich.console import Console

    from stepmark.published.catalogue import document_of, publication_named
    from stepmark.published.defects import defects_of
    from stepmark.published.references import reference_names
    from stepmark.report.published_sheet import publication_sheet

    if name in reference_names():
        raise UsageError(
            f"{name} is a reference and no published result",
            remedy=f"stepmark show {name}::SUITE shows what was measured of a suite",
        )
    sheet = publication_sheet(publication_named(name), document_of(name), defects_of(name))
    Console(highlight=False).print(sheet)
    return 0


def _print_file(name: str, format_: str) -> int:
    from stepmark.interchange.formats import format_named, render
    from stepmark.interchange.lines import encode
    from stepmark.published.catalogue import document_of, publication_named

    publication = publication_named(name)
    if format_named(format_).name != publication.format:
        raise UsageError(
            f"'{name}' was published as {publication.format}, not as {format_}",
            remedy=f"stepmark published {name} --format {publication.format}",
        )
    click.echo(encode(render(document_of(name))), nl=False)
    return 0
