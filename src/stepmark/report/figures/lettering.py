"""Lettering: how wide a text is drawn, texts that fit, and names fit to be ids."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import partial

ELLIPSIS = "…"
NARROW_LETTERS = "iljtfr.,:;'|!()[]{}/\\ ·-"
BOLD = 1.1
"""How much wider bold letters are."""
WIDE_LETTERS = "mwMW@%"
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
LEGEND_LABEL, LEGEND_SYMBOL = 240, 34
"""Pixels: the longest name in a legend, and what stands before and behind it."""
SLUG_LENGTH = 48
NAME_LETTERS = 12
NAMES = re.compile(r"(?<![^ ,\[])([^ ,=\[]+)(?==)")
"""Of axes: what stands before an equals sign."""


def width_of(text: str, *, size: float = 11.0) -> float:
    """About how many pixels a sans-serif text takes, rather too many than too few."""
    return size * sum(map(_advance, text))


def shortened(text: str, width: float, *, size: float = 11.0) -> str:
    """A text that fits. In `name=value` names are shortened before anything else, because values tell cells
    apart; then the middle is left out, because names differ at their ends as often as at their beginnings."""
    text = one_line(text)
    for most in (NAME_LETTERS, *range(NAME_LETTERS // 2, 2, -1)):
        if width_of(text, size=size) <= width:
            return text
        text = NAMES.sub(partial(_trimmed, most=most), text)
    kept = len(text) - 1
    while kept > 2 and width_of(_without_middle(text, kept), size=size) > width:
        kept -= 1
    return _without_middle(text, kept)


def one_line(text: str) -> str:
    """Line breaks and other control characters as spaces."""
    return CONTROLS.sub(" ", text)


def columns_for(names: Iterable[str], width: float) -> int:
    """How many columns of a legend fit beside each other; a long name is cut at the theme's limit."""
    widest = max((min(width_of(name), LEGEND_LABEL) for name in names), default=0.0)
    return max(1, min(6, int(width / (widest + LEGEND_SYMBOL))))


def slug(*parts: str) -> str:
    """Fit to be an HTML id: letters, digits and dashes."""
    text = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    return text[:SLUG_LENGTH].rstrip("-") or "figure"


def distinct(names: list[str]) -> list[str]:
    """The names, numbered from 2 on where one comes again."""
    taken: set[str] = set()
    for place, name in enumerate(names):
        number, candidate = 1, name
        while candidate in taken:
            number += 1
            candidate = f"{name}-{number}"
        names = [*names[:place], candidate, *names[place + 1 :]]
        taken.add(candidate)
    return names


def _trimmed(found: re.Match[str], most: int) -> str:
    name = found[1]
    return name if len(name) <= most else name.rstrip(ELLIPSIS)[: most - 1] + ELLIPSIS


def _without_middle(text: str, kept: int) -> str:
    head = (kept + 1) // 2
    return text[:head].rstrip(ELLIPSIS) + ELLIPSIS + text[len(text) - (kept - head) :].lstrip(ELLIPSIS)


def _advance(letter: str) -> float:
    """In the size of the font."""
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if unicodedata.combining(letter):
        return 0.0
    if letter in NARROW_LETTERS:
        return 0.33
    if letter in WIDE_LETTERS:
        return 0.9
    return 0.7 if letter.isupper() else 0.58
