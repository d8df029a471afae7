"""`stepmark export`: a stored run as a file, or an imported file as it was."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepmark.cli.options import store_option
from stepmark.errors import StoreError, UsageError

if TYPE_CHECKING:
    from stepmark.records.run import Recording
    from stepmark.store.imports import Import

FORMATS = (
    *("jsonl", "csv", "markdown", "json", "criterion"),
    *("fragmented-text", "switchback-jsonl", "grid", "reference", "bundle"),
)
REFERENCE = "reference"
BUNDLE = "bundle"
DEFAULT = "json"


@click.command("export")
@click.argument("run", default="latest", metavar="[RUN]")
@click.option(
    "--format",
    "format_",
    metavar="NAME",
    type=click.Choice(FORMATS),
    help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}; {DEFAULT} if not given, an imported file its own.",
)
@click.option("--output", "-o", metavar="FILE", help="Instead of standard output.")
@store_option
def command(run: str, format_: str | None, output: str | None, store: str | None) -> int:
    """Write a stored run as JSON, JSON lines, CSV, Markdown, Criterion's text or another published format.

    Raw samples are in json, jsonl and bundle, a compressed file that another store takes (stepmark serve
    --allow-upload); reference is one with less in it, for everyone. RUN may be an imported file, by id or
    name: it comes out byte for byte. Or, of a reference that comes with stepmark, a suite: REFERENCE::SUITE.
    """
    from stepmark.store.imports import Import

    gc.disable()  # a million small records are made, kept and gone with the process: a tenth of the time
    recording = _found(run, store)
    if isinstance(recording, Import):
        _write(_imported(recording, format_), output)
        return 0
    if format_ in (REFERENCE, BUNDLE):
        _write(_reference(recording) if format_ == REFERENCE else _bundle(recording), output)
        return 0
    from stepmark.cli.stage_line import judging, stages_of
    from stepmark.pipeline import judged
    from stepmark.report.formats import render

    with stages_of(recording) as line:
        line.say(judging(recording))
        judgement = judged(recording)
        line.say("writing it down")
        text = render(format_ or DEFAULT, judgement, recording)
    if output is None and not text.endswith("\n"):
        text += "\n"
    _write(text.encode(), output)
    return 0


def _found(name: str, store: str | None) -> Recording | Import:
    from stepmark.cli.named_run import is_of_reference, named_run
    from stepmark.store.location import store_url
    from stepmark.store.store import Store

    if is_of_reference(name):
        return named_run(name, store)
    with Store.open(store_url(store), create=False) as opened:
        found = opened.resolve_any(name)
        return opened.imported(found) or opened.load(found)


def _reference(recording: Recording) -> bytes:
    from stepmark.published.reference_file import to_reference

    return to_reference(recording)


def _bundle(recording: Recording) -> bytes:
    from stepmark.interchange.run_bundle import to_bundle

    return to_bundle(recording)


def _imported(imported: Import, format_: str | None) -> bytes:
    """The file as it was, or its records as JSON."""
    import msgspec

    from stepmark.interchange.formats import render
    from stepmark.interchange.lines import encode

    if format_ in (None, imported.format):
        return encode(render(imported.document))
    if format_ == DEFAULT:
        return msgspec.json.format(msgspec.json.encode(imported), indent=2) + b"\n"
    raise UsageError(
        f"{imported.id} is {imported.format}, which cannot be written as {format_}",
        remedy=f"stepmark export {imported.id}, or --format json for its records",
    )


def _write(data: bytes, output: str | None) -> None:
    if output is None:
        click.echo(data, nl=False)
        return
    try:
        Path(output).write_bytes(data)
    except OSError as error:
        raise StoreError(f"cannot write {output}: {error.strerror}", remedy="name another file") from None
