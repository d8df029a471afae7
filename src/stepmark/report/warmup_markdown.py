"""A warm-up study as Markdown, to paste into a pull request."""

from __future__ import annotations

from stepmark.report.format import NBSP
from stepmark.report.warmup_chart import chart
from stepmark.report.warmup_view import TextTable, WarmupView

_SIDES = {"l": ":--", "r": "--:"}


def render_warmup_markdown(view: WarmupView) -> str:
    """Tables, the chart as a block of code, and the causes."""
    drawn = "\n".join(row.replace(NBSP, " ") for row in chart(view.curve, width=80))
    blocks = [
        f"### `{view.title}`",
        " · ".join(view.context),
        _table(view.firsts),
        _table(view.dropped),
        _plain(view.automatic),
        f"{_plain(view.curve_title)}\n\n```text\n{drawn}\n```",
        _plain(view.slow_start),
        _table(view.causes) if view.causes is not None else "",
        "\n".join(f"- {_plain(failure)}" for failure in view.failures),
        f"<sub>{_plain(' · '.join(view.facts))}</sub>",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _table(table: TextTable) -> str:
    head, *rows = [[_plain(text) for text in row] for row in table.rows]
    sides = [_SIDES[side] for side in table.sides]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, sides, *rows))


def _plain(text: str) -> str:
    for special in "\\`*_[]<>|":
        text = text.replace(special, f"\\{special}")
    return " ".join(text.split("\n"))
