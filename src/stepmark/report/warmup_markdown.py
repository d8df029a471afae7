"""A warm-up study as Markdown, to paste into a pull request."""

from __future__ import annotations

from stepmark.report.format import NBSP
from stepmark.report.markdown_text import code, plain
from stepmark.report.text_table import in_markdown
from stepmark.report.warmup_chart import chart
from stepmark.report.warmup_view import WarmupView


def render_warmup_markdown(view: WarmupView) -> str:
    """Tables, the chart as a block of code, and the causes."""
    drawn = "\n".join(row.replace(NBSP, " ") for row in chart(view.curve, width=80))
    blocks = [
        f"### {code(view.title)}",
        plain(" · ".join(view.context)),
        in_markdown(view.firsts),
        in_markdown(view.dropped),
        plain(view.automatic),
        f"{plain(view.curve_title)}\n\n```text\n{drawn}\n```",
        plain(view.slow_start),
        in_markdown(view.causes) if view.causes is not None else "",
        "\n".join(f"- {plain(failure)}" for failure in view.failures),
        f"<sub>{plain(' · '.join(view.facts))}</sub>",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"
