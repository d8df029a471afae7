"""Drawing: a figure as SVG or PNG, and the script that draws figures in a page; nothing needs a network."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from html import escape
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import altair as alt
import vl_convert
from platformdirs import user_cache_path

from stepmark.report.figures.figure import Figure, Spec
from stepmark.report.figures.lettering import shortened, width_of
from stepmark.report.figures.theme import HEADING, TITLE, palette, theme

VEGALITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
WIDTH = 860
"""Pixels of a figure that would take the width of its page."""
PADDING = 12


def svg(figure: Figure, *, dark: bool = False) -> str:
    """With its title, on paper of its own, and with its alt text for those who cannot see it."""
    drawn = vl_convert.vegalite_to_svg(
        standalone(figure, dark=dark), vl_version=VEGALITE, config=theme(dark), allowed_base_urls=[]
    )
    words = f"<title>{escape(figure.title)}</title><desc>{escape(figure.alt)}</desc>"
    return str(drawn).replace(">", f">{words}", 1)


def png(figure: Figure, *, scale: float = 2.0, dark: bool = False) -> bytes:
    """The same in pixels; `scale` 2 is sharp on most screens."""
    drawn: bytes = vl_convert.vegalite_to_png(
        standalone(figure, dark=dark),
        vl_version=VEGALITE,
        config=theme(dark),
        scale=scale,
        allowed_base_urls=[],
    )
    return drawn


def standalone(figure: Figure, *, dark: bool = False) -> Spec:
    """The specification of a figure that stands alone: titled, padded, of a width of its own."""
    title: dict[str, Any] = {
        "text": _wrapped(figure.title),
        "fontSize": TITLE,
        "anchor": "start",
        "offset": HEADING,
    }
    own = figure.spec.get("title")
    own_text = own if isinstance(own, str) else (own or {}).get("text")
    title |= {"subtitle": own_text} if own_text else {}
    spec = {
        **figure.spec,
        "description": figure.alt,
        "title": title,
        "padding": PADDING,
        "background": palette(dark=dark).paper,
    }
    return {**spec, "width": WIDTH} if spec.get("width") == "container" else spec


def _wrapped(title: str) -> list[str]:
    """Lines of a title that are not wider than a page."""
    lines = [""]
    for word in title.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size=TITLE) > WIDTH:
            lines.append(word)
        else:
            lines[-1] = longer
    return [shortened(line, WIDTH, size=TITLE) for line in lines]


def javascript_bundle() -> str:
    """Vega, Vega-Lite and vega-embed as one script, of the versions that draw files too.

    Making it takes seconds and a hundred megabytes, so another process makes it, once; it is kept in the
    user's cache.
    """
    return _bundle(user_cache_path("stepmark"))


@cache
def _bundle(folder: Path) -> str:
    file = folder / f"vega-{version('vl-convert-python')}-{VEGALITE}.js"
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        text = _made()
        _keep(file, text)
        return text


def _made() -> str:
    code = (
        "import sys, vl_convert; "
        f"sys.stdout.buffer.write(vl_convert.javascript_bundle(vl_version={VEGALITE!r}).encode())"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True)
    return done.stdout.decode()


def _keep(file: Path, text: str) -> None:
    """Whole or not at all; a cache that cannot be written is no reason to fail."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, delete=False) as made:
            made.write(text)
        os.replace(made.name, file)
    except OSError:
        return
