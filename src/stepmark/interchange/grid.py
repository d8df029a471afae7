"""Documents with tables in tabulate's "grid" format: tables as numbers, the prose around them as text.

A table is read into its numbers and written again by tabulate, in its default number format (six significant
digits, aligned at the decimal point). One that does not come out the same is kept as text: other programs
draw such tables too, with cells over several lines, other alignments or more digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from stepmark.interchange.broken import BrokenFile, quoted
from stepmark.interchange.lines import Loose, join, kept, loose_lines, split
from stepmark.interchange.numerals import WHOLE
from stepmark.records.record import Record

Value = int | float | str
Row = tuple[Value, ...]

_BORDER = re.compile(r"\+(?:-+\+)+")
_HEAD = re.compile(r"\+(?:=+\+)+")
_WHOLE = re.compile(rf"-?{WHOLE}")
_NUMBER = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[-+][0-9]{2,3})?")


class Table(Record, frozen=True, kw_only=True, tag="table"):
    """Columns of numbers or texts."""

    headers: tuple[str, ...]
    """Empty for a table without."""
    rows: tuple[Row, ...]

    def column(self, header: str) -> Row:
        """The values below a header."""
        place = self.headers.index(header)
        return tuple(row[place] for row in self.rows)


class GridDocument(Record, frozen=True, kw_only=True, tag="grid"):
    """A whole file."""

    newline: str = "\n"
    parts: tuple[Loose | Table, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        return tuple(part for part in self.parts if isinstance(part, Table))


def parse(text: str, name: str) -> GridDocument:
    """Tables, and the text around them."""
    newline, lines = split(text)
    parts: list[Loose | Table] = []
    loose: list[str] = []
    at = 0
    while at < len(lines):
        drawn = _drawn(lines, at)
        table = _table(drawn, name, at + 1) if drawn else None
        if table is None:
            taken = drawn or lines[at : at + 1]
            loose += taken
        else:
            taken = drawn
            parts += [*kept(loose), table]
            loose = []
        at += len(taken)
    parts += kept(loose)
    document = GridDocument(newline=newline, parts=tuple(parts))
    if not document.tables:
        raise BrokenFile(name, 1, "no table as tabulate draws it in its format 'grid'")
    return document


def render(document: GridDocument) -> str:
    """The inverse of `parse`."""
    return join(document.newline, (line for part in document.parts for line in _part_lines(part)))


def table_lines(table: Table) -> tuple[str, ...]:
    """The table, drawn."""
    from tabulate import tabulate  # type: ignore[import-untyped]

    drawn: str = tabulate([list(row) for row in table.rows], headers=list(table.headers), tablefmt="grid")
    return tuple(drawn.split("\n"))


def _part_lines(part: Loose | Table) -> tuple[str, ...]:
    return table_lines(part) if isinstance(part, Table) else loose_lines(part)


def _drawn(lines: Sequence[str], at: int) -> tuple[str, ...]:
    """The lines of the table that begins here; none where none does."""
    if not _BORDER.fullmatch(lines[at]):
        return ()
    end = at
    while end < len(lines) and lines[end].startswith(("+", "|")):
        end += 1
    return tuple(lines[at:end])


def _table(drawn: tuple[str, ...], name: str, number: int) -> Table | None:
    """None where tabulate would have drawn it otherwise. `number` is that of the first line."""
    if any(_HEAD.fullmatch(line) for line in drawn):
        _check(drawn, name, number)
    read = _read(drawn)
    # How wide other characters are depends on what else is installed.
    if read is None or not all(line.isascii() for line in drawn):
        return None
    return read if table_lines(read) == drawn else None


def _check(drawn: tuple[str, ...], name: str, number: int) -> None:
    """With a line below its headers it was meant to be a table: each line fits the first, the last closes."""
    cuts = _cuts(drawn[0])
    for place, line in enumerate(drawn):
        if len(line) != len(drawn[0]) or any(line[cut] not in "+|" for cut in cuts):
            raise BrokenFile(name, number + place, f"this does not fit its table: {quoted(line)}")
    if not _BORDER.fullmatch(drawn[-1]) and not _HEAD.fullmatch(drawn[-1]):
        raise BrokenFile(name, number + len(drawn) - 1, "a table ends without its last line")


def _read(drawn: tuple[str, ...]) -> Table | None:
    """None unless rows and lines take turns."""
    cuts = _cuts(drawn[0])
    contents, borders = drawn[1::2], drawn[::2]
    if not contents or not all(line.startswith("+") for line in borders):
        return None
    if any(len(line) != len(drawn[0]) or not line.startswith("|") for line in contents):
        return None
    cells = [tuple(_cells(line, cuts)) for line in contents]
    headed = len(borders) > 1 and _HEAD.fullmatch(borders[1]) is not None
    headers, body = (cells[0], cells[1:]) if headed else ((), cells)
    columns = [_values(column) for column in zip(*body, strict=True)]
    return Table(headers=headers, rows=tuple(zip(*columns, strict=True)))


def _cuts(border: str) -> tuple[int, ...]:
    return tuple(place for place, character in enumerate(border) if character == "+")


def _cells(line: str, cuts: Sequence[int]) -> Iterator[str]:
    for start, end in pairwise(cuts):
        yield line[start + 1 : end].strip()


def _values(column: Sequence[str]) -> Row:
    """Whole numbers, numbers, or texts: all cells of a column alike, but for empty ones."""
    filled = [cell for cell in column if cell]
    if filled and all(map(_WHOLE.fullmatch, filled)):
        return tuple(int(cell) if cell else "" for cell in column)
    if filled and all(_NUMBER.fullmatch(cell) and math.isfinite(float(cell)) for cell in filled):
        return tuple(float(cell) if cell else "" for cell in column)
    return tuple(column)
