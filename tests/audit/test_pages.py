"""Pages of findings: one for each name, all of one form, and what they point to exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepmark.audit import MEANINGS
from stepmark.audit.page import page_of
from stepmark.records.finding import FindingName, Severity

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "src" / "stepmark" / "audit" / "pages"
HEADINGS = ["Evidence", "Why it matters", "What to do", "Shown by"]
WITHOUT_EXAMPLE = {FindingName.THROTTLED, FindingName.CLOCK_DRIFT, FindingName.QUANTISED_CLOCK}
"""What no bench file can bring about."""

each_finding = pytest.mark.parametrize("name", FindingName)


def test_there_is_a_page_for_every_finding_and_no_other() -> None:
    assert {path.name for path in PAGES.iterdir()} == {f"{name}.md" for name in FindingName}


@each_finding
def test_a_page_opens_with_name_and_meaning(name: FindingName) -> None:
    title, meaning, severity, *_ = page_of(name).split("\n\n")
    assert title == f"# {name}"
    said = " ".join(meaning.split())
    assert said[0].lower() + said[1:-1] == MEANINGS[name]
    assert any(each in severity for each in Severity)
    assert re.findall(r"^## (.*)$", page_of(name), re.MULTILINE) == HEADINGS


@each_finding
def test_lines_are_short(name: FindingName) -> None:
    assert all(len(line) <= 110 for line in page_of(name).splitlines())


@each_finding
def test_the_examples_of_a_page_are_those_that_show_it(name: FindingName) -> None:
    said = set(re.findall(r"`(examples/mistakes/\w+\.py)`", page_of(name)))
    shown = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "examples" / "mistakes").glob("*.py")
        if f'\nFINDING = "{name}"\n' in path.read_text(encoding="utf-8")
    }
    assert said == shown
    assert bool(shown) == (name not in WITHOUT_EXAMPLE)


@each_finding
def test_the_audits_page_lists_every_finding(name: FindingName) -> None:
    listed = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    severity = page_of(name).split("\n\n")[2].removeprefix("Severity: ").rstrip(".")
    link = f"[{name}](../src/stepmark/audit/pages/{name}.md)"
    assert f"\n| {link} | {severity} | {MEANINGS[name]} |" in listed


@each_finding
def test_the_verdicts_page_says_the_same(name: FindingName) -> None:
    page = (ROOT / "docs" / "reading-a-verdict.md").read_text(encoding="utf-8")
    assert f"\n| {name} | {MEANINGS[name]} |" in page
