"""Markdown's own grammar: names, tables and line breaks, with what it would misread escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$])")
"""With the ampersand of entities, and the dollar between two of which some pages set formulas."""


def plain(text: str) -> str:
    """On one line, with everything that Markdown would read escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.splitlines()))


def code(text: str) -> str:
    """A name, fenced by more backticks than it contains; a bar would end the table's cell."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence, pad = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{pad}{' '.join(text.splitlines())}{pad}{fence}".replace("|", r"\|")


def broken(lines: Iterable[str]) -> str:
    """One paragraph that keeps its lines."""
    return "\\\n".join(lines)


def table(titles: Sequence[str], sides: str, rows: Iterable[Sequence[str]]) -> str:
    """Rows below their titles; a side is `l` or `r` for each column."""
    rules = ["---:" if side == "r" else "---" for side in sides]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (map(plain, titles), rules, *rows))
