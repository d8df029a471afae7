"""Recognising Criterion's lines: patterns from text to records, each checked by writing the line again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from stepmark.interchange.criterion_lines import (
    Analyze,
    ChangeHead,
    Collect,
    Interval,
    OutlierClass,
    Outliers,
    Printed,
    Quantity,
    Sentence,
    Shortfall,
    Start,
    Tested,
    WarmUp,
)
from stepmark.interchange.numerals import DECIMAL, WHOLE

_VALUE = rf" *[-+−]?(?:{DECIMAL}|NaN|inf)(?: +[^\s\[\]%]+|%)"
_SENTENCES = "|".join((Sentence.NO_CHANGE, Sentence.IMPROVED, Sentence.REGRESSED, Sentence.NOISE))


class _Kind(NamedTuple):
    hint: str
    """In every such line: most lines are decided without a pattern."""
    pattern: re.Pattern[str]
    make: Callable[[re.Match[str]], Printed]


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"{text}(?P<trailing>[ \t\r]*)")


def _quantity(text: str) -> Quantity:
    if text.endswith("%"):
        return Quantity(digits=text.strip()[:-1], unit="%")
    digits, _, unit = text.strip().partition(" ")
    return Quantity(digits=digits, unit=unit)


def _interval(match: re.Match[str]) -> Interval:
    found = match.groupdict()
    low, point, high = (_quantity(value) for value in re.findall(_VALUE, found["values"]))
    tested = Tested(p=found["p"], sign=found["sign"], level=found["level"]) if found["p"] else None
    return Interval(
        label=found["label"],
        id=found["id"],
        column=len(found["id"].encode()) + len(found["gap"]),
        low=low,
        point=point,
        high=high,
        tested=tested,
        trailing=found["trailing"],
    )


_INTERVAL = _pattern(
    r"(?P<id>[^\s].*?|)(?P<gap> +)(?P<label>time|thrpt|change): +"
    rf"\[(?P<values>{_VALUE} {_VALUE} {_VALUE})\]"
    rf"(?: \(p = (?P<p>{DECIMAL}) (?P<sign>[<>]) (?P<level>{DECIMAL})\))?"
)
_KINDS = (
    _Kind(
        ": Warming up for ",
        _pattern(rf"Benchmarking (?P<id>.+): Warming up for (?P<time>{_VALUE})"),
        lambda m: WarmUp(id=m["id"], time=_quantity(m["time"]), trailing=m["trailing"]),
    ),
    _Kind(
        ": Collecting ",
        _pattern(
            rf"Benchmarking (?P<id>.+): Collecting (?P<samples>{WHOLE}) samples in estimated "
            rf"(?P<time>{_VALUE}) \((?P<iterations>[0-9.]+[kMB]?) iterations\)"
        ),
        lambda m: Collect(
            id=m["id"],
            samples=int(m["samples"]),
            time=_quantity(m["time"]),
            iterations=m["iterations"],
            trailing=m["trailing"],
        ),
    ),
    _Kind(
        ": Analyzing",
        _pattern(r"Benchmarking (?P<id>.+): Analyzing"),
        lambda m: Analyze(id=m["id"], trailing=m["trailing"]),
    ),
    _Kind(
        "Benchmarking ",
        _pattern(r"Benchmarking (?P<id>.*[^\s])"),
        lambda m: Start(id=m["id"], trailing=m["trailing"]),
    ),
    _Kind(
        "Warning: Unable to complete ",
        _pattern(
            rf"Warning: Unable to complete (?P<samples>{WHOLE}) samples in (?P<target>[0-9.]+[a-zµμ]+)\. "
            r"You may wish to increase target time to (?P<needed>[0-9.]+[a-zµμ]+)(?P<advice>.*)\."
        ),
        lambda m: Shortfall(
            samples=int(m["samples"]),
            target=m["target"],
            needed=m["needed"],
            advice=m["advice"],
            trailing=m["trailing"],
        ),
    ),
    _Kind(": ", _INTERVAL, _interval),
    _Kind(
        "change:",
        _pattern(r"(?P<gap> +)change:"),
        lambda m: ChangeHead(column=len(m["gap"]), trailing=m["trailing"]),
    ),
    _Kind(
        ".",
        _pattern(rf"(?P<gap> +)(?P<text>{_SENTENCES})"),
        lambda m: Sentence(column=len(m["gap"]), text=m["text"], trailing=m["trailing"]),
    ),
    _Kind(
        " outliers among ",
        _pattern(
            rf"Found (?P<count>{WHOLE}) outliers among (?P<samples>{WHOLE}) measurements "
            rf"\((?P<percent>{DECIMAL})%\)"
        ),
        lambda m: Outliers(
            count=int(m["count"]), samples=int(m["samples"]), percent=m["percent"], trailing=m["trailing"]
        ),
    ),
    _Kind(
        "%) ",
        _pattern(rf"  (?P<count>{WHOLE}) \((?P<percent>{DECIMAL})%\) (?P<kind>(?:low|high) (?:mild|severe))"),
        lambda m: OutlierClass(
            count=int(m["count"]), percent=m["percent"], kind=m["kind"], trailing=m["trailing"]
        ),
    ),
)
MAX_LENGTH = 1000
"""No line of Criterion's is as long: it cuts ids at 100 characters. On noise patterns need a bound."""


def recognise(line: str) -> Printed | None:
    """The line's fields; None where it is none of Criterion's, or would not be written the same again."""
    if len(line) > MAX_LENGTH:
        return None
    for kind in _KINDS:
        if kind.hint in line and (match := kind.pattern.fullmatch(line)):
            made = kind.make(match)
            return made if str(made) == line else None
    return None
