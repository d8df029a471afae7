"""The lines of a document: split and joined without loss, with records for those that say nothing to us.

A file is bytes; what is not UTF-8 in it travels as lone surrogates (PEP 383) while it is text, and as bytes
in a record, because neither JSON nor a database takes a surrogate.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from stepmark.records.record import Record

CRLF, LF = "\r\n", "\n"


def decode(data: bytes) -> str:
    """The text of a file, whatever is in it."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The inverse of `decode`."""
    return text.encode("utf-8", "surrogateescape")


class Text(Record, frozen=True, kw_only=True, tag="text"):
    """Lines kept as they are."""

    lines: tuple[str, ...]


class Noise(Record, frozen=True, kw_only=True, tag="noise"):
    """A line that is not UTF-8."""

    line: bytes


Loose = Text | Noise
"""What a format has no fields for."""


class Lines(NamedTuple):
    """A text, taken apart at its line ends; the last line has none, and is empty where the text ends with
    one."""

    newline: str
    """The one line end of the whole text. Where ends are mixed it is a bare line feed, and what else there
    is belongs to the lines."""
    lines: tuple[str, ...]


def split(text: str) -> Lines:
    """`join` gives the text back."""
    newline = CRLF if CRLF in text and text.count(CRLF) == text.count(LF) else LF
    return Lines(newline, tuple(text.split(newline)))


def join(newline: str, lines: Iterable[str]) -> str:
    return newline.join(lines)


def kept(lines: Iterable[str]) -> tuple[Loose, ...]:
    """Lines as records, neighbours together."""
    found: list[Loose] = []
    for readable, group in groupby(lines, key=is_unicode):
        if readable:
            found.append(Text(lines=tuple(group)))
        else:
            found += [Noise(line=encode(line)) for line in group]
    return tuple(found)


def loose_lines(part: Loose) -> tuple[str, ...]:
    """The inverse of `kept`."""
    return part.lines if isinstance(part, Text) else (decode(part.line),)


def is_unicode(line: str) -> bool:
    """Whether all of it was UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in line)
