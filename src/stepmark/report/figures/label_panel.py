"""Labels of a figure's lines, as a panel of their own: long names are shortened, and whole in the tooltip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from stepmark.report.figures.figure import Spec
from stepmark.report.figures.lettering import BOLD, shortened, width_of
from stepmark.report.figures.lines import HEIGHT, INDENT, Line
from stepmark.report.figures.pieces import Rows, Ruler, layered, marks, rounded, tips

LINES = "lines"
"""The dataset that holds one row a line."""


def label_rows(
    lines: Sequence[Line], *, width: float, narrow: float, notes: Callable[[Line], dict[str, Any]]
) -> Rows:
    """One row a line: its label for a wide and for a narrow column, and what else a figure notes at it."""
    return [
        {
            "line": line.place,
            "heading": line.is_heading,
            "label": _fitting(line, width),
            "brief": _fitting(line, narrow),
            "whole": line.text,
            **notes(line),
        }
        for line in lines
    ]


def line_channel(lines: Sequence[Line]) -> alt.Y:
    """The line of a row, the first one at the top, on an axis that is not drawn."""
    return Ruler(alt.Scale(domain=[len(lines) - 0.5, -0.5], nice=False, zero=False, padding=0)).y("line")


def height_of(lines: Sequence[Line]) -> int:
    """Pixels of all lines."""
    return HEIGHT * max(1, len(lines))


def label_panel(lines: Sequence[Line], *, width: float, field: str = "label") -> Spec:
    """The column of labels: headings in bold, cases below them a little to the right."""
    y, whole = line_channel(lines), tips([("whole", "case")])
    heading = marks(where="datum.heading").mark("text", style="heading", align="left")
    rule = marks(where="datum.heading && datum.line > 0").mark("rule", style="separator", yOffset=-HEIGHT / 2)
    label = marks(where="!datum.heading").mark("text", style="label", align="left")
    indent = INDENT if any(line.is_heading for line in lines) else 0
    text = alt.Text(field=field, type="nominal")
    return layered(
        rule.encode(x=alt.value(0), x2=alt.value(width), y=y),
        heading.encode(x=alt.value(0), y=y, text=text, tooltip=whole),
        label.encode(x=alt.value(indent), y=y, text=text, tooltip=whole),
        data=LINES,
        width=rounded(width),
        height=height_of(lines),
        view={"stroke": None},
    )


def _fitting(line: Line, width: float) -> str:
    """A heading may do without its second part, what it is compared with."""
    if not line.is_heading:
        return shortened(line.text, width - INDENT - 4.0)
    room = (width - 4.0) / BOLD
    return shortened(line.text if width_of(line.text) <= room else line.text.split(" · ")[0], room)
