"""The formats of a report, by name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import NamedTuple

from stepmark.errors import UsageError
from stepmark.records.run import Judgement, Recording
from stepmark.report import (
    criterion_text,
    csv_table,
    fragmented_text,
    grid_text,
    json_document,
    json_lines,
    markdown,
    switchback_jsonl,
    terminal,
)


class Format(NamedTuple):
    """One way to write a run down."""

    name: str
    about: str
    render: Callable[[Judgement, Recording, Recording | None], str]
    """From the judged run, its recording, and an earlier one that changes are shown from, if any."""


FORMATS = {
    each.name: each
    for each in (
        Format("table", "what the terminal shows", lambda judgement, *_: terminal.render(judgement)),
        Format("markdown", "tables for a pull request", lambda judgement, *_: markdown.render(judgement)),
        Format("csv", "one row per case and phase", lambda judgement, *_: csv_table.render(judgement)),
        Format(
            "json",
            "one document with everything",
            lambda judgement, recording, _: json_document.render(judgement, recording),
        ),
        Format(
            "jsonl",
            "one object a line, raw samples first",
            lambda judgement, recording, _: json_lines.render(judgement, recording),
        ),
        Format(
            "criterion",
            "the text Criterion prints, by its rules",
            lambda judgement, recording, previous: criterion_text.render(
                judgement, recording, previous=previous
            ),
        ),
        Format(
            "fragmented-text",
            "the text of the published FragmentedLinear benchmark",
            lambda judgement, recording, _: fragmented_text.render(judgement, recording),
        ),
        Format(
            "switchback-jsonl",
            "the lines of the published SwitchBack benchmark",
            lambda judgement, recording, _: switchback_jsonl.render(judgement, recording),
        ),
        Format(
            "grid",
            "the tables of the published transformer benchmark",
            lambda judgement, recording, _: grid_text.render(judgement, recording),
        ),
    )
}


def render(
    name: str, judgement: Judgement, recording: Recording, *, previous: Recording | None = None
) -> str:
    """The run in the format of this name."""
    return format_named(name).render(judgement, recording, previous)


def format_named(name: str) -> Format:
    """The format of this name, whatever its case."""
    known = FORMATS.get(name.lower())
    if known is None:
        near = get_close_matches(name.lower(), FORMATS, n=1, cutoff=0.4)
        advice = f"did you mean '{near[0]}'? " if near else ""
        raise UsageError(f"'{name}' is not a format", remedy=f"{advice}formats: {', '.join(FORMATS)}")
    return known
