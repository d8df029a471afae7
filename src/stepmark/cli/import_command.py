"""`stepmark import`: a file of another tool, kept in the store as records."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import click

from stepmark.cli.options import store_option
from stepmark.errors import UsageError

GZIP = b"\x1f\x8b"
"""How compressed files begin."""


@click.command("import")
@click.argument("file", metavar="FILE")
@click.option(
    "--format", "format_", metavar="NAME", help="Its format, where it cannot be told from the text."
)
@click.option("--name", metavar="TEXT", help="What to call it; the file's name if not given.")
@store_option
def command(file: str, format_: str | None, name: str | None, store: str | None) -> int:
    """Read a result file of another tool into the store, whole or not at all.

    FILE may be the text of FragmentedLinear's script, SwitchBack's info.jsonl, a text with tabulate's grid
    tables, or a log of Criterion. `stepmark export ID` gives it back byte for byte.
    """
    from stepmark.interchange.formats import format_of, num_lines, parse
    from stepmark.interchange.lines import decode
    from stepmark.store.imports import Import
    from stepmark.store.location import store_url
    from stepmark.store.run_id import new_run_id
    from stepmark.store.store import Store

    path = Path(file)
    document = parse(decode(_read(path)), path.name, format_name=format_)
    now = time.time()
    shown = name or path.name.encode(errors="backslashreplace").decode()
    made = Import(id=new_run_id(now, Random()), imported=now, name=shown, document=document)
    with Store.open(store_url(store)) as opened:
        opened.add_import(made)
    lines, loose = num_lines(document)
    click.echo(f"{made.id}  {made.name}: {format_of(document).name}, {lines} lines, {loose} kept as text")
    return 0


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", remedy="name a file that is there and may be read"
        ) from None
    if data.startswith(GZIP):
        raise UsageError(
            f"{path.name} is compressed",
            remedy="a run bundle is uploaded to the store that is to have it: stepmark serve --allow-upload; "
            "unpack any other file first",
        )
    return data
