"""A grid: rows of styled pieces in aligned columns, some of which may be folded to fit the page.

rich's own Table measures every cell several times and truncates what does not fit; a sweep has thousands of
cells, and a verdict must never be cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from stepmark.report.page import Page, line, wrap

COMFORTABLE, MIN_FOLDED = 18, 12
"""A column is folded to the first gladly, to the second at most; then the line runs over the edge."""
NOTE_WIDTH = 36
"""What a folded piece across several columns asks for."""


class Column(NamedTuple):
    """How a column is set."""

    right: bool = False
    gap: int = 2
    """Spaces before it."""
    fold: bool = False
    """May be broken over lines where the page is too narrow."""


class Piece(NamedTuple):
    """What stands in a row at one column, or across several."""

    text: str
    style: str = ""
    span: int = 1
    fold: bool = False
    """May be broken over lines."""


Row = Sequence[Piece]


class Grid(NamedTuple):
    """Columns and rows, as they will be shown: make it with `make_grid`."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Piece, ...], ...]
    widths: tuple[int, ...]

    @property
    def width(self) -> int:
        """Without folding."""
        return _extent(self.columns, self.widths)

    @property
    def least_width(self) -> int:
        """With the columns that may be folded made narrow, but not yet hard to read."""
        pairs = zip(self.columns, self.widths, strict=True)
        narrow = [min(width, COMFORTABLE) if column.fold else width for column, width in pairs]
        return _extent(self.columns, narrow)

    def folded(self, page: Page) -> Grid:
        """With columns as narrow as the page asks for."""
        return self._replace(widths=_folded(self.columns, self.widths, page.width))

    def lines(self, page: Page) -> list[Text]:
        """The rows, folded where the page is too narrow."""
        widths = self.folded(page).widths
        return [text for row in self.rows for text in _lines(row, self.columns, widths, page.width)]


def make_grid(columns: Sequence[Column], rows: Sequence[Row], *, page: Page) -> Grid:
    """Measure once what the page will show."""
    shown = tuple(tuple(piece._replace(text=page.show(piece.text)) for piece in row) for row in rows)
    return Grid(columns=tuple(columns), rows=shown, widths=_widths(columns, shown))


def align(texts: Sequence[str]) -> list[str]:
    """Pad numbers so that their decimal points stand below each other: ` 1.5`, `12`, ` 0.25`."""
    cuts = [match.end() if (match := re.match(r"[^.x]*", text)) else 0 for text in texts]
    before = max(cuts, default=0)
    behind = max((len(text) - cut for text, cut in zip(texts, cuts, strict=True)), default=0)
    return [
        text and " " * (before - cut) + text + " " * (behind - len(text) + cut)
        for text, cut in zip(texts, cuts, strict=True)
    ]


def _widths(columns: Sequence[Column], rows: Sequence[Row]) -> tuple[int, ...]:
    """What each column needs; a piece across several widens the last of them."""
    widths = [0] * len(columns)
    wide: list[tuple[int, Piece]] = []
    for row in rows:
        place = 0
        for piece in row:
            if piece.span == 1:
                widths[place] = max(widths[place], cell_len(piece.text))
            else:
                wide.append((place, piece))
            place += piece.span
    for place, piece in wide:
        end = place + piece.span
        wanted = min(cell_len(piece.text), NOTE_WIDTH if piece.fold else len(piece.text) * 2)
        lacking = wanted - _extent(columns[place:end], widths[place:end])
        widths[end - 1] += max(lacking, 0)
    return tuple(widths)


def _extent(columns: Sequence[Column], widths: Sequence[int]) -> int:
    return sum(widths) + sum(column.gap for column in columns[1:])


def _folded(columns: Sequence[Column], widths: Sequence[int], width: int) -> tuple[int, ...]:
    """Take the excess from the widest column that may be folded, again and again."""
    folded = list(widths)
    while (excess := _extent(columns, folded) - width) > 0:
        able = [n for n, column in enumerate(columns) if column.fold and folded[n] > MIN_FOLDED]
        if not able:
            break
        widest = max(able, key=folded.__getitem__)
        others = max((folded[n] for n in able if n != widest), default=0)
        target = max(folded[widest] - excess, MIN_FOLDED, min(others, folded[widest] - 1))
        folded[widest] = target
    return tuple(folded)


class _Block(NamedTuple):
    """A piece with its place on the line."""

    offset: int
    room: int
    right: bool
    style: str
    parts: list[str]


def _lines(row: Row, columns: Sequence[Column], widths: Sequence[int], width: int) -> list[Text]:
    """One row as one line, or as several where a piece was broken."""
    blocks: list[_Block] = []
    place = offset = 0
    for piece in row:
        column, end = columns[place], place + piece.span
        offset += column.gap if place else 0
        room = _extent(columns[place:end], widths[place:end])
        reach = max(room, width - offset) if piece is row[-1] else room
        parts = wrap(piece.text, reach) if piece.fold or column.fold else [piece.text]
        blocks.append(_Block(offset, room, column.right and piece.span == 1, piece.style, parts))
        offset += room
        place = end
    height = max(len(block.parts) for block in blocks)
    return [_line(blocks, number) for number in range(height)]


def _line(blocks: Sequence[_Block], number: int) -> Text:
    parts: list[tuple[str, str]] = []
    at = 0
    for block in blocks:
        text = block.parts[number] if number < len(block.parts) else ""
        if text:
            width = cell_len(text)
            start = max(block.offset + (block.room - width if block.right else 0), at)
            parts += [(" " * (start - at), ""), (text, block.style)]
            at = start + width
    return line(*parts)
