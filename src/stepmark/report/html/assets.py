"""Assets of a page: its style sheet, its own script, and the script that draws figures."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

SCRIPTS = ("unpacking", "theme", "figures", "table", "case", "start")
"""In the order in which they build on each other."""


@cache
def css() -> str:
    """The style sheet, for reports and for the pages of the server."""
    return _asset("report.css")


@cache
def script() -> str:
    """The page's own script; `stepmark.start(root)` starts a report that was put into a page later."""
    return '(() => {\n"use strict";\n' + "\n".join(_asset(f"{name}.js") for name in SCRIPTS) + "})();\n"


def vega() -> str:
    """Vega, Vega-Lite and vega-embed: defines `vegaEmbed`."""
    from stepmark.report.figures.draw import javascript_bundle

    return javascript_bundle()


def _asset(name: str) -> str:
    return (files("stepmark.report.html") / "assets" / name).read_text(encoding="utf-8")
