"""`stepmark list`: built-in suites and the bench files here, without importing any of them."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("list")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--cases", is_flag=True, help="Every case of the targets (imports them in a worker).")
@click.option("--preset", default="standard", show_default=True, metavar="NAME", help="Whose cases.")
def command(targets: tuple[str, ...], cases: bool, preset: str) -> int:
    """List built-in suites and bench files; with --cases, every case of TARGET.

    TARGET is a folder to look in, or, with --cases, what `stepmark run` takes.
    """
    if cases:
        return _list_cases(targets, preset)
    from stepmark.cli.screen import print_outlines
    from stepmark.suites import BUILTIN
    from stepmark.suites.targets import bench_files, folder

    folders = [folder(target) for target in targets] or [Path()]
    files = [bench for folder in folders for bench in bench_files(folder)]
    print_outlines(BUILTIN, files)
    return 0


def _list_cases(targets: tuple[str, ...], preset: str) -> int:
    from stepmark.engines.local import LocalEngine
    from stepmark.errors import UsageError
    from stepmark.measure.expand import Selection, expand, select
    from stepmark.records.settings import Settings
    from stepmark.suites.targets import resolve

    if not targets:
        raise UsageError(
            "--cases of what?", remedy="name a bench file or a suite: stepmark list --cases demo"
        )
    engine = LocalEngine(Settings())
    try:
        sources = [source for target in targets for source in resolve(target)]
        described = engine.describe(sources, "cpu")
    finally:
        engine.close()
    outlines = select(described.suites, Selection(preset=preset))
    for case in expand(outlines, condition=None, device=described.device):
        click.echo(case.id)
    return 0
