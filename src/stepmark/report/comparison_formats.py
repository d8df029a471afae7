"""The formats of a comparison, by name."""

from __future__ import annotations

from stepmark.errors import UsageError
from stepmark.records.comparison import Comparison
from stepmark.report import comparison_csv, comparison_json, comparison_markdown, comparison_table

FORMATS = ("table", "markdown", "csv", "json")


def render_comparison(name: str, comparison: Comparison, *, phases: bool = False) -> str:
    """The comparison as text; `phases` makes tables list every phase, the other formats always do."""
    if name == "table":
        return comparison_table.render(comparison, phases=phases)
    if name == "markdown":
        return comparison_markdown.render(comparison, phases=phases)
    if name == "csv":
        return comparison_csv.render(comparison)
    if name == "json":
        return comparison_json.render(comparison)
    raise UsageError(f"'{name}' is not a format", remedy=f"formats: {', '.join(FORMATS)}")
