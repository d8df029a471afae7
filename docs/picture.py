"""The picture in the README: a stored run, drawn as the terminal shows it: `python docs/picture.py [RUN]`."""

from __future__ import annotations

import io
import re
from pathlib import Path

import click
from rich.console import Console

from stepmark.pipeline import judged
from stepmark.report.terminal import render_terminal
from stepmark.store.location import store_url
from stepmark.store.store import Store


@click.command()
@click.argument("run", default="latest")
@click.option("--store")
def draw(run: str, store: str | None) -> None:
    """Write docs/demo.svg."""
    with Store.open(store_url(store), create=False) as opened:
        recording = opened.load(opened.resolve(run))
    console = Console(width=80, record=True, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print("$ stepmark run demo\n", style="bold")
    console.print(render_terminal(judged(recording)))
    drawn = console.export_svg(title="stepmark")
    offline = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)  # no fonts from elsewhere
    Path(__file__).with_name("demo.svg").write_text(offline, encoding="utf-8")


if __name__ == "__main__":
    draw()
