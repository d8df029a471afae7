"""What only a terminal shows: colours and text it erased, taken out of a line and put back at their places.

Escape sequences are those of ECMA-48: CSI, parameters, a final letter; a colour's letter is `m`, and `K`
erases a line. A program that redraws its progress writes it, goes back to the margin and erases, all before
the next line feed: of such a line the part behind the last erasing is what a person saw.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from stepmark.records.record import Record

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_ERASED = re.compile(r"(?s).*(?:\r\x1b\[[02]?K|\x1b\[[02]?K\r)")


class Mark(Record, frozen=True, kw_only=True):
    """Characters that do not stay on a screen."""

    at: int
    """Before this character of those that do."""
    text: str


class Seen(NamedTuple):
    """A line as a person saw it."""

    text: str
    marks: tuple[Mark, ...]


def seen(line: str) -> Seen:
    """`marked` gives the line back."""
    if "\x1b" not in line:
        return Seen(line, ())
    marks, text = [], ""
    if erased := _ERASED.match(line):
        marks.append(Mark(at=0, text=erased.group()))
    place = erased.end() if erased else 0
    for escape in _ESCAPE.finditer(line, place):
        text += line[place : escape.start()]
        marks.append(Mark(at=len(text), text=escape.group()))
        place = escape.end()
    return Seen(text + line[place:], tuple(marks))


def marked(text: str, marks: Sequence[Mark]) -> str:
    """The line as it was written."""
    pieces, place = [], 0
    for mark in marks:
        pieces += [text[place : mark.at], mark.text]
        place = mark.at
    return "".join((*pieces, text[place:]))
