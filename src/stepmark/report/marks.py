"""Marks: signs and letters beside a verdict that lead to the findings below the tables.

    ✗a        an error, finding a: the verdict is INVALID
    !bc       two warnings
    (d)       accepted
    ✗a!bcd+   more than fit; all are listed below

Notes are listed without a mark.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping

from stepmark.records.finding import Finding, FindingName, Severity

SIGNS: Mapping[Severity, str] = {Severity.ERROR: "✗", Severity.WARNING: "!"}
LETTERS = string.ascii_letters
MAX_LETTERS = 4
MORE = "+"

Letters = Mapping[FindingName, str]


def letters_of(findings: Iterable[Finding]) -> Letters:
    """A letter for every name that is marked, the gravest first."""
    marked = sorted((each for each in findings if each.severity in SIGNS), key=_gravity)
    names = dict.fromkeys(each.name for each in marked)
    return {name: LETTERS[place % len(LETTERS)] for place, name in enumerate(names)}


def marks_of(findings: Iterable[Finding], letters: Letters) -> str:
    """The marks of one case: errors, warnings, then what was accepted."""
    marked = sorted((each for each in findings if each.severity in SIGNS), key=_gravity)
    shown: dict[str, str] = {}
    for each in list({(mark_sign(each), each.name): each for each in marked}.values())[:MAX_LETTERS]:
        sign = mark_sign(each)
        shown[sign] = shown.get(sign, "") + letters[each.name]
    texts = [f"({text})" if sign == "()" else sign + text for sign, text in shown.items()]
    return "".join(texts) + (MORE if len({each.name for each in marked}) > MAX_LETTERS else "")


def mark_sign(finding: Finding) -> str:
    """`✗`, `!`, or `()` around what is accepted."""
    return "()" if finding.accepted else SIGNS[finding.severity]


def mark(letter: str, severity: Severity, *, accepted: bool) -> str:
    """The mark as the legend shows it: `✗a`, `(d)`, or the severity's own name where it has no letter."""
    if not letter:
        return severity.value
    return f"({letter})" if accepted else SIGNS[severity] + letter


def _gravity(finding: Finding) -> tuple[bool, int]:
    return finding.accepted, -list(Severity).index(finding.severity)
