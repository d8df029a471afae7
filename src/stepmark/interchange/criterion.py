"""Criterion's log: what `cargo bench` prints, from any version that writes intervals as `[low point high]`.

A log is read line by line. Lines that are none of Criterion's are kept as text: cargo prints into the same
file, and so does the code that is measured. Progress may be missing, because it goes to standard error or a
terminal erased it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeGuard

from msgspec.structs import replace

from stepmark.interchange.broken import BrokenFile, quoted
from stepmark.interchange.criterion_lines import (
    COLUMN,
    Analyze,
    ChangeHead,
    Collect,
    Interval,
    Line,
    OutlierClass,
    Outliers,
    Printed,
    Sentence,
    Start,
    Title,
    WarmUp,
)
from stepmark.interchange.criterion_patterns import recognise
from stepmark.interchange.lines import Loose, is_unicode, join, kept, loose_lines, split
from stepmark.interchange.terminal_marks import Seen, marked, seen
from stepmark.records.record import Record

BLANKS = " \t\r"
_MEANT = re.compile(r"(?:time|thrpt|change): +\[")
"""At the column of results: a line that was meant to be one."""


class CriterionLog(Record, frozen=True, kw_only=True, tag="criterion"):
    """A whole file."""

    newline: str = "\n"
    parts: tuple[Loose | Printed, ...]


def is_time(line: object) -> TypeGuard[Interval]:
    """Whether a line is the result of a benchmark, not the change of one."""
    return isinstance(line, Interval) and line.label == "time" and line.point.unit != "%"


def parse(text: str, name: str) -> CriterionLog:
    """Criterion's lines with their fields, and all others as text."""
    newline, lines = split(text)
    shown = [seen(line) if is_unicode(line) else Seen(line, ()) for line in lines]
    visible = [line.text for line in shown]
    found = _recognised(visible)
    _check(visible, found, name)
    parts: list[Loose | Printed] = []
    loose: list[str] = []
    for line, (_, marks), printed in zip(lines, shown, found, strict=True):
        if printed is None:
            loose.append(line)
            continue
        parts += [*kept(loose), replace(printed, marks=marks) if marks else printed]
        loose = []
    return CriterionLog(newline=newline, parts=(*parts, *kept(loose)))


def render(log: CriterionLog) -> str:
    """The inverse of `parse`."""
    lines = (
        line
        for part in log.parts
        for line in ((marked(str(part), part.marks),) if isinstance(part, Line) else loose_lines(part))
    )
    return join(log.newline, lines)


def _recognised(lines: Sequence[str]) -> list[Printed | None]:
    """What each line is; one above a result without a name is that name."""
    found: list[Printed | None] = [recognise(line) if is_unicode(line) else None for line in lines]
    current = ""
    for place, line in enumerate(lines):
        printed = found[place]
        if isinstance(printed, Start):
            if current and printed.id.startswith(f"{current}: "):
                found[place] = None  # a stage we do not know, such as profiling
            else:
                current = printed.id
        elif printed is None and _could_be_a_name(line) and _is_nameless(found, place + 1):
            id = line.rstrip(BLANKS)
            found[place] = Title(id=id, trailing=line[len(id) :])
    return found


def _could_be_a_name(line: str) -> bool:
    return bool(line.strip()) and line.rstrip(BLANKS).isprintable()


def _is_nameless(found: Sequence[Printed | None], place: int) -> bool:
    following = found[place] if place < len(found) else None
    return is_time(following) and not following.id


def _check(lines: Sequence[str], found: Sequence[Printed | None], name: str) -> None:
    """Refuse what cannot be the whole of a log."""
    awaited, analyzing, results = False, "", 0
    for number, (line, printed) in enumerate(zip(lines, found, strict=True), start=1):
        if printed is None and _MEANT.match(line[COLUMN:]) and not line[:COLUMN].strip():
            raise BrokenFile(
                name, number, f"not three values in brackets as Criterion writes them: {quoted(line)}"
            )
        if isinstance(printed, Start | WarmUp | Collect | Analyze | Title):
            awaited = True
            analyzing = printed.id if isinstance(printed, Analyze) else analyzing
        elif is_time(printed):
            if not awaited and not printed.id:
                raise BrokenFile(name, number, "a result without the name of its benchmark")
            awaited, analyzing, results = False, "", results + 1
        elif isinstance(printed, Interval | ChangeHead | Sentence | Outliers | OutlierClass) and not results:
            raise BrokenFile(name, number, f"this comes before any result: {quoted(line)}")
    if not results:
        raise BrokenFile(name, len(lines), "no result of Criterion's in it: 'time:   [1.0 ms 1.1 ms 1.2 ms]'")
    if analyzing:
        raise BrokenFile(name, len(lines), f"the log ends before the result of {quoted(analyzing)}")
