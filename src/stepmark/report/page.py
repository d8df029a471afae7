"""The page a terminal report is laid out on: its width, and which characters it can show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.cells import cell_len, chop_cells
from rich.text import Text

from stepmark.report.format import NBSP, SUPERSCRIPTS

MAX_WIDTH = 120
"""Wider lines are hard to follow with the eye."""
MIN_ROOM = 20
"""A paragraph is not made narrower than this; its lines run over the edge instead."""
_ASCII = str.maketrans(
    {NBSP: " ", "±": "+-", "µ": "u", "·": "|", "×": "x", "─": "-", "→": "->", "✗": "X", "ʰ": "h"}
    | {digit: f"[{value}]" for value, digit in enumerate(SUPERSCRIPTS)}
)
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
"""Never passed on to a terminal: a message may carry escape sequences."""
_BREAKS = re.compile(r"(?<=[ ,;:(\[./_=-])")
"""A name without spaces may be broken behind one of these."""


class Page(NamedTuple):
    """Where lines are laid out."""

    width: int = 80
    ascii_only: bool = False

    def show(self, text: str) -> str:
        """The text as this page can show it."""
        return self._showable(text).replace(NBSP, " ")

    def paragraph(
        self, text: str, *, style: str = "", indent: str = "", hanging: str | None = None
    ) -> list[Text]:
        """Text over as many lines as it needs; all but the first start with `hanging`."""
        hanging = indent if hanging is None else hanging
        room = self.width - max(cell_len(indent), cell_len(hanging))
        first, *others = wrap(self._showable(text), max(room, MIN_ROOM))
        parts = [(indent, first), *((hanging, part) for part in others)]
        return [line((start, ""), (part.replace(NBSP, " "), style)) for start, part in parts]

    def facts(self, facts: Iterable[str], *, style: str = "") -> list[Text]:
        """Short facts in a row, broken between them and never inside one."""
        rows: list[str] = []
        for fact in map(self.show, facts):
            longer = f"{rows[-1]}{self.show(' · ')}{fact}" if rows else fact
            if rows and cell_len(longer) <= self.width:
                rows[-1] = longer
            else:
                rows.append(fact)
        return [line((row, style)) for row in rows]

    def heading(self, left: str, right: str) -> list[Text]:
        """A title with its context at the other end of the line, or below it; then a rule."""
        left, right = self.show(left), self.show(right)
        gap = self.width - cell_len(left) - cell_len(right)
        if gap >= 2:
            return [line((left, "bold"), (" " * gap, ""), (right, "dim")), self.rule()]
        return [*self.paragraph(left, style="bold"), *self.paragraph(right, style="dim"), self.rule()]

    def rule(self) -> Text:
        """A line across the page."""
        return line((self.show("─" * self.width), "dim"))

    def _showable(self, text: str) -> str:
        """No-break spaces are kept until the lines are broken."""
        text = _CONTROLS.sub(" ", text)
        if self.ascii_only and not text.isascii():
            text = text.translate(_ASCII).encode("ascii", "backslashreplace").decode()
        return text


def line(*parts: tuple[str, str]) -> Text:
    """One line of styled parts, laid out already: the console need not look for places to break it."""
    text = Text(no_wrap=True, overflow="ignore")
    for part, style in parts:
        text.append(part, style=style or None)
    text.rstrip()
    return text


def wrap(text: str, width: int) -> list[str]:
    """Break at spaces, then behind punctuation, and inside a word only where nothing else helps."""
    if cell_len(text) <= width:
        return [text]
    lines, current = [], ""
    for piece in _pieces(text, width):
        if current and cell_len((current + piece).rstrip()) > width:
            lines.append(current.rstrip())
            current = piece.lstrip()
        else:
            current += piece
    return [*lines, current.rstrip()] if current.strip() else lines


def _pieces(text: str, width: int) -> Iterator[str]:
    for word in re.split(r"(?<= )", text):
        if cell_len(word.rstrip()) <= width:
            yield word
        else:
            for piece in _BREAKS.split(word):
                yield from chop_cells(piece, width) if cell_len(piece.rstrip()) > width else (piece,)
