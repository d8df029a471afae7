"""`stepmark explain`: what a finding means, what it rests on, and how to mend it."""

from __future__ import annotations

import click


@click.command("explain")
@click.argument("name", required=False, metavar="[NAME]")
def command(name: str | None) -> int:
    """Explain the finding NAME; without a name, list all findings."""
    from rich.console import Console

    from stepmark.audit.meanings import MEANINGS
    from stepmark.audit.page import page_of
    from stepmark.records.finding import finding_named
    from stepmark.report.finding_page import finding_list, finding_page

    sheet = finding_list(MEANINGS) if name is None else finding_page(page_of(finding_named(name)))
    Console(highlight=False).print(sheet)
    return 0
