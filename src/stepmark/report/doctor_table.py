"""Diagnoses on a terminal: what is wrong in full, what is fine in a line each, the unknown in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from stepmark.records.diagnosis import Diagnosis, Examination, State
from stepmark.report.page import Page, line
from stepmark.report.sheet import Sheet

STYLES = {State.WARNING: "bold red", State.NOTICE: "yellow", State.UNKNOWN: "dim", State.OK: "green"}
_NAMES = {
    State.WARNING: ("warning", "warnings"),
    State.NOTICE: ("notice", "notices"),
    State.UNKNOWN: ("unknown", "unknown"),
    State.OK: ("ok", "ok"),
}
_STATE_WIDTH, _CHECK_WIDTH = 9, 16
_NARROW = 60
"""Below this width a text stands below its check instead of beside it."""


def doctor_table(examination: Examination) -> Sheet:
    """In the order given, which is the worst first."""
    return Sheet(
        lambda page: [*_tally(examination.diagnoses), Text(), *diagnosis_lines(examination.diagnoses, page)]
    )


def _tally(diagnoses: Sequence[Diagnosis]) -> list[Text]:
    """`2 warnings, 1 notice, 12 ok`."""
    counts = Counter(diagnosis.state for diagnosis in diagnoses)
    parts: list[tuple[str, str]] = []
    for state in State:
        if number := counts[state]:
            parts += [(", ", "")] if parts else []
            parts.append((f"{number} {_NAMES[state][number != 1]}", STYLES[state]))
    return [line(*parts)]


def diagnosis_lines(diagnoses: Sequence[Diagnosis], page: Page) -> list[Text]:
    """Those that are to be acted on come with meaning and remedy."""
    lines: list[Text] = []
    for diagnosis in diagnoses:
        if diagnosis.state is not State.UNKNOWN:
            lines += _entry(diagnosis, page)
    unknown = [diagnosis for diagnosis in diagnoses if diagnosis.state is State.UNKNOWN]
    for seen in dict.fromkeys(diagnosis.seen for diagnosis in unknown):
        names = ", ".join(diagnosis.check for diagnosis in unknown if diagnosis.seen == seen)
        lines += page.paragraph(f"{seen}: {names}", style="dim")
    return lines


def _entry(diagnosis: Diagnosis, page: Page) -> list[Text]:
    texts = [(diagnosis.seen, "")]
    if diagnosis.state is not State.OK:
        texts += [(diagnosis.meaning, "dim"), (f"→ {diagnosis.remedy}", "")]
    head = ((f"{diagnosis.state:<{_STATE_WIDTH}}", STYLES[diagnosis.state]), (diagnosis.check, "bold"))
    beside = page.width >= _NARROW
    indent = " " * (_STATE_WIDTH + (_CHECK_WIDTH if beside else 0))
    lines = [text for part, style in texts for text in page.paragraph(part, style=style, indent=indent)]
    if not beside:
        return [line(*head), *lines]
    first = line(*head, (" " * (_CHECK_WIDTH - len(diagnosis.check)), ""))
    first.pad_right(len(indent) - first.cell_len)
    first.append_text(lines[0][len(indent) :])
    return [first, *lines[1:]]
