"""A profile as Markdown, to paste into a pull request."""

from __future__ import annotations

from stepmark.report.format import NBSP
from stepmark.report.markdown_text import code, plain
from stepmark.report.profile_chart import memory_chart
from stepmark.report.profile_view import ProfileView
from stepmark.report.text_table import in_markdown


def render_profile_markdown(view: ProfileView) -> str:
    """Tables, the chart and command lines as blocks of code."""
    drawn = "\n".join(row.replace(NBSP, " ") for row in memory_chart(view.memory, width=80))
    blocks = [
        f"### {code(view.title)}",
        plain(" · ".join(view.context)),
        in_markdown(view.phases),
        in_markdown(view.idle),
        *(f"{plain(each.title)}\n\n{in_markdown(each.table)}" for each in view.operations),
        plain(view.products),
        f"{plain(view.memory_title)}\n\n```text\n{drawn}\n```",
        plain(view.peak),
        *((plain(view.cost_title), in_markdown(view.cost)) if view.cost is not None else ()),
        *_nsight(view),
        "\n".join(f"- {plain(failure)}" for failure in view.failures),
        f"<sub>{plain(' · '.join(view.facts))}</sub>",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _nsight(view: ProfileView) -> list[str]:
    if not view.nsight:
        return []
    said, *commands = view.nsight
    return [plain(said), "```sh\n" + "\n".join(commands) + "\n```"]
