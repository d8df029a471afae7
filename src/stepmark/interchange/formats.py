"""The formats by name: which there are, which one a text is in, and one parse and render for all."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, NamedTuple

from stepmark.errors import UsageError
from stepmark.interchange import criterion, fragmented_text, grid, switchback_jsonl
from stepmark.interchange.criterion import CriterionLog
from stepmark.interchange.fragmented_text import FragmentedText
from stepmark.interchange.grid import GridDocument
from stepmark.interchange.lines import Noise, Text, loose_lines
from stepmark.interchange.switchback_jsonl import SwitchbackLines

Document = FragmentedText | SwitchbackLines | GridDocument | CriterionLog


class Format(NamedTuple):
    """One way in which others write results down."""

    name: str
    about: str
    document: type[Document]
    parse: Callable[[str, str], Document]
    """From the text, and the file's name for messages."""
    render: Callable[[Any], str]
    """Of a document of that type."""
    sign: re.Pattern[str]
    """Found in no file of the other formats."""


FORMATS = {
    each.name: each
    for each in (
        Format(
            "fragmented-text",
            "the text of FragmentedLinear's benchmark script",
            FragmentedText,
            fragmented_text.parse,
            fragmented_text.render,
            re.compile(r"^Benchmarking with input_size=", re.MULTILINE),
        ),
        Format(
            "switchback-jsonl",
            "SwitchBack's info.jsonl: 25 keys a line",
            SwitchbackLines,
            switchback_jsonl.parse,
            switchback_jsonl.render,
            re.compile(r'^\{.*"(?:standard_fwd|time_standard)"', re.MULTILINE),
        ),
        Format(
            "criterion",
            "what Criterion prints",
            CriterionLog,
            criterion.parse,
            criterion.render,
            re.compile(r"(?:^| )time: +\[|^Benchmarking .*: (?:Warming up for|Analyzing)", re.MULTILINE),
        ),
        Format(
            "grid",
            "a text with grid tables as tabulate draws them",
            GridDocument,
            grid.parse,
            grid.render,
            re.compile(r"^\+(?:-+\+)+\r?$", re.MULTILINE),
        ),
    )
}


def detect(text: str, name: str) -> str:
    """The name of the format that a text is in."""
    for each in FORMATS.values():
        if each.sign.search(text):
            return each.name
    raise UsageError(f"{name} is in no format that stepmark knows", remedy=f"it reads: {', '.join(FORMATS)}")


def format_named(name: str) -> Format:
    """The format of this name."""
    known = FORMATS.get(name)
    if known is None:
        near = get_close_matches(name, FORMATS, n=1, cutoff=0.4)
        advice = f"did you mean '{near[0]}'? " if near else ""
        raise UsageError(
            f"'{name}' is no format that can be read", remedy=f"{advice}formats: {', '.join(FORMATS)}"
        )
    return known


def parse(text: str, name: str, *, format_name: str | None = None) -> Document:
    """The whole of a text as records, which give it back character for character."""
    known = format_named(format_name or detect(text, name))
    document = known.parse(text, name)
    assert known.render(document) == text, f"{name} does not survive being read and written"
    return document


def render(document: Document) -> str:
    """The text a document was read from."""
    return format_of(document).render(document)


def format_of(document: Document) -> Format:
    """The format a document is of."""
    return next(each for each in FORMATS.values() if isinstance(document, each.document))


def num_lines(document: Document) -> tuple[int, int]:
    """All lines of a document, and how many of those that are not empty were kept as text."""
    text = render(document)
    all_lines = text.count("\n") + (not text.endswith("\n"))
    loose = [line for part in document.parts if isinstance(part, Text | Noise) for line in loose_lines(part)]
    return all_lines, sum(bool(line.strip()) for line in loose)
