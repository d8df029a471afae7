"""docs/reading-a-verdict.md: the example is real output, and no word of the closed lists is missing."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from stepmark.records.finding import FindingName, Severity
from stepmark.records.outcome import Outcome
from stepmark.records.verdict import Reason, VerdictKind
from stepmark.report import terminal
from tests.report.ordinary_examples import normal

PAGE = Path(__file__).parents[2] / "docs" / "reading-a-verdict.md"
EXAMPLE = re.compile(r"(?<=```text\n).*?(?=```)", re.DOTALL)


def test_the_example_is_what_the_terminal_shows() -> None:
    """Renewed together with the golden files; see golden_files.py."""
    text, shown = PAGE.read_text(encoding="utf-8"), terminal.render(normal())
    if os.environ.get("STEPMARK_WRITE_GOLDEN"):
        text = EXAMPLE.sub(lambda _: shown, text, count=1)
        PAGE.write_text(text, encoding="utf-8")
    found = EXAMPLE.search(text)
    assert found is not None
    assert found.group() == shown


@pytest.mark.parametrize("word", [*VerdictKind, *Reason, *Outcome, *FindingName])
def test_every_word_of_the_closed_lists_has_a_row(word: str) -> None:
    assert f"\n| {word} |" in PAGE.read_text(encoding="utf-8")


def test_severities_and_exit_codes_are_explained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"**{severity}**" in text for severity in Severity)
    assert all(f"\n| {code} |" in text for code in (0, 1, 2, 3, 130))
