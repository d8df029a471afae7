"""The document: a page's view as one HTML file that needs nothing else, or as a part of a served page."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

import msgspec
from markupsafe import Markup

from stepmark.report.figures.figure import NARROW, Figure
from stepmark.report.figures.theme import theme
from stepmark.report.html.assets import css, script, vega
from stepmark.report.html.packing import pack_json
from stepmark.report.html.page_view import PageView
from stepmark.report.html.table_columns import all_figures
from stepmark.report.html.templating import environment, with_page


def render_page(page: PageView, *, zone: tzinfo | None = None) -> str:
    """The whole file: style, scripts and data inside, and a policy that forbids everything else."""
    style, scripts = css(), [vega(), script()]
    return (
        environment(zone)
        .get_template("report.html")
        .render(
            **with_page(page),
            packed=_packed(page, zone),
            policy=content_policy(style, scripts),
            css=Markup(style),
            scripts=[Markup(each) for each in scripts],
        )
    )


def render_fragment(page: PageView, *, zone: tzinfo | None = None) -> str:
    """The report as the content of a page that has the style and the scripts: no executable script in it."""
    template = environment(zone).get_template("fragment.html")
    return template.render(**with_page(page), packed=_packed(page, zone))


def render_nav(page: PageView) -> str:
    """Links to the parts of the report, as items of a list."""
    return environment().get_template("nav.html").render(**with_page(page))


def render_figures(figures: Sequence[Figure]) -> str:
    """Figures alone, with their headings, words and data, for a page that has the style and the scripts."""
    template = environment().get_template("figures.html")
    return template.render(figures=figures, packed={"figures": pack_json(_drawing(figures))})


def content_policy(style: str, scripts: list[str]) -> str:
    """The content security policy of a file: what it has, by hashes, and nothing else."""
    allowed = " ".join(_hash(each) for each in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _packed(page: PageView, zone: tzinfo | None) -> dict[str, Any]:
    figures = _drawing(all_figures(page), samples=page.samples)
    template = environment(zone).get_template("case.html")
    known = with_page(page)
    cases = [
        {"anchor": case.anchor, "id": case.judged.case.id, "html": template.render(**known, case=case)}
        for case in page.cases
    ]
    series = {case.anchor: msgspec.to_builtins(case.series) for case in page.cases if case.series}
    return {
        "figures": pack_json(figures),
        "rows": pack_json(environment(zone).get_template("phase_rows.html").render(**known)),
        "cases": pack_json(cases),
        "series": _json_in_script(series),
    }


def _drawing(figures: Sequence[Figure], *, samples: Sequence[Figure] = ()) -> dict[str, Any]:
    """What the script needs to draw."""
    return {
        "figures": [_plain(figure) for figure in figures],
        "samples": [_without_rows(_plain(figure)) for figure in samples],
        "light": theme(dark=False),
        "dark": theme(dark=True),
        "narrow_below": NARROW,
    }


def _plain(figure: Figure) -> dict[str, Any]:
    return {"spec": figure.spec, "narrow": figure.narrow}


def _without_rows(figure: dict[str, Any]) -> dict[str, Any]:
    """The data of another case are not carried."""
    empty: dict[str, list[Any]] = {name: [] for name in figure["spec"].get("datasets", {})}
    return {**figure, "spec": {**figure["spec"], "datasets": empty}}


def _json_in_script(value: Any) -> Markup:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))
