"""The theme: one look for all figures, in light and in dark; nothing is told by colour alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from stepmark.records.verdict import VerdictKind
from stepmark.report.figures.lettering import LEGEND_LABEL

FONT = "system-ui, 'Segoe UI', 'Liberation Sans', Arial, sans-serif"
LABEL, HEADING, TITLE = 11, 12, 14
"""Sizes of text, in pixels."""

VERDICT_COLOURS = {
    VerdictKind.FASTER: "#1a7fbf",
    VerdictKind.SLOWER: "#d2570f",
    VerdictKind.EQUIVALENT: "#14876c",
    VerdictKind.INCONCLUSIVE: "#7c8087",
    VerdictKind.INVALID: "#b3469d",
}
"""On light and on dark paper alike: at least 3:1 to both."""
VERDICT_SHAPES = {
    VerdictKind.FASTER: "triangle-left",
    VerdictKind.SLOWER: "triangle-right",
    VerdictKind.EQUIVALENT: "square",
    VerdictKind.INCONCLUSIVE: "circle",
    VerdictKind.INVALID: "cross",
}
VERDICT_LETTERS = {
    VerdictKind.FASTER: "F",
    VerdictKind.SLOWER: "S",
    VerdictKind.EQUIVALENT: "E",
    VerdictKind.INCONCLUSIVE: "?",
    VerdictKind.INVALID: "X",
}
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "triangle-down",
    "cross",
    "triangle-right",
    "triangle-left",
)
"""Beside the colours of a palette, in its order."""


class Palette(NamedTuple):
    """Colours of one theme."""

    paper: str
    ink: str
    muted: str
    """Of text that explains: at least 4.5:1."""
    line: str
    """Of grids and frames."""
    band: str
    trouble: str
    category: tuple[str, ...]
    """Neighbours differ in lightness too, so that they survive colour blindness and a grey print."""


LIGHT = Palette(
    paper="#ffffff",
    ink="#1b1f24",
    muted="#57606a",
    line="#d5dae0",
    band="#8aa0b4",
    trouble="#a3264f",
    category=(
        *("#0072b2", "#cf5c00", "#00795a", "#b04a93"),
        *("#7d6100", "#4a3fa8", "#5d6871", "#0e8fa8"),
    ),
)
DARK = Palette(
    paper="#14181d",
    ink="#e6e9ec",
    muted="#a3adb7",
    line="#3a424b",
    band="#6f8396",
    trouble="#ff8fb0",
    category=(
        *("#56b4e9", "#f28c4a", "#3cc29a", "#e08cc2"),
        *("#e3b93c", "#a69df2", "#a9b4bc", "#7fd6e6"),
    ),
)


def palette(*, dark: bool) -> Palette:
    """The colours of a theme."""
    return DARK if dark else LIGHT


def theme(dark: bool) -> dict[str, Any]:
    """The configuration that a specification is drawn with."""
    colours = palette(dark=dark)
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": colours.line, "continuousHeight": 260},
        "axis": _axis(colours),
        "legend": _legend(colours),
        "title": {
            "color": colours.ink,
            "subtitleColor": colours.muted,
            "fontSize": HEADING,
            "subtitleFontSize": LABEL,
            "anchor": "start",
            "fontWeight": "bold",
            "offset": 8,
        },
        "header": {"labelColor": colours.ink, "labelFontSize": LABEL, "titleColor": colours.muted},
        "range": {"category": list(colours.category), "symbol": list(SHAPES)},
        "style": _styles(colours),
    }


def _axis(colours: Palette) -> dict[str, Any]:
    return {
        "domainColor": colours.line,
        "tickColor": colours.line,
        "gridColor": colours.line,
        "gridOpacity": 0.6,
        "labelColor": colours.ink,
        "labelFontSize": LABEL,
        "labelOverlap": "greedy",
        "labelSeparation": 4,
        "titleColor": colours.muted,
        "titleFontSize": LABEL,
        "titleFontWeight": "normal",
    }


def _legend(colours: Palette) -> dict[str, Any]:
    return {
        "labelColor": colours.ink,
        "labelFontSize": LABEL,
        "labelLimit": LEGEND_LABEL,
        "titleColor": colours.muted,
        "titleFontSize": LABEL,
        "titleFontWeight": "normal",
    }


def _styles(colours: Palette) -> dict[str, Any]:
    """Marks that are not data, by name."""
    text = {"fontSize": LABEL, "baseline": "middle"}
    return {
        "label": {**text, "color": colours.ink},
        "heading": {**text, "color": colours.ink, "fontWeight": "bold"},
        "note": {**text, "color": colours.muted},
        "trouble": {**text, "color": colours.trouble, "fontStyle": "italic"},
        "inside": {**text, "color": colours.paper, "fontWeight": "bold"},
        "band": {"color": colours.band, "opacity": 0.25},
        "guide": {"color": colours.muted, "strokeWidth": 1},
        "ceiling": {"color": colours.ink, "strokeWidth": 1.5},
        "level": {"color": colours.ink, "strokeWidth": 2},
        "separator": {"color": colours.line, "strokeWidth": 1},
    }
