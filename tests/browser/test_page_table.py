"""The table of cases: it sorts, filters and searches, by mouse and by keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Watch, until

pytestmark = pytest.mark.process


def shown(page: Page, column: str) -> list[str]:
    """The cells of a column in the rows that are shown."""
    return page.evaluate(  # type: ignore[no-any-return]
        """name => {
          const table = document.querySelector("[data-compared]");
          const place = [...table.tHead.rows[0].cells].findIndex(cell => cell.textContent.trim() === name);
          return [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[place]?.dataset.v
            ?? row.cells[place]?.textContent.trim());
        }""",
        column,
    )


def heading(page: Page, column: str) -> str:
    return f"[data-compared] thead th:has(button:text-is('{column}'))"


def test_a_heading_sorts_up_and_down_and_says_so(report: Path, watch: Watch) -> None:
    page = watch().open(report)
    for column in ("time", "ratio"):
        page.click(f"{heading(page, column)} button")
        assert page.get_attribute(heading(page, column), "aria-sort") == "ascending"
        values = [float(each) for each in shown(page, column) if each]
        assert values == sorted(values)
        page.click(f"{heading(page, column)} button")
        assert page.get_attribute(heading(page, column), "aria-sort") == "descending"
        values = [float(each) for each in shown(page, column) if each]
        assert values == sorted(values, reverse=True)
    assert page.locator("[data-compared] th[aria-sort]").count() == 1


def test_cases_without_numbers_are_sorted_by_what_stands_below_the_heading(
    hostile_report: Path, watch: Watch
) -> None:
    opened = watch()
    page = opened.open(hostile_report)
    headings = page.locator("[data-compared] thead th button")
    for place in range(headings.count()):
        headings.nth(place).click()
    page.click(f"{heading(page, 'verdict')} button")
    kinds = page.evaluate(
        "[...document.querySelector('[data-compared]').tBodies[0].rows].map(row => row.dataset.verdict)"
    )
    assert kinds == sorted(kinds, key=str.lower)
    assert opened.errors == []


def test_filters_and_search_narrow_the_rows_down(report: Path, watch: Watch) -> None:
    page = watch().open(report)
    page.wait_for_selector("[data-filters]")
    assert len(shown(page, "case")) == 12
    assert set(shown(page, "phase")) == {"step"}
    page.select_option("[name=verdict]", "SLOWER")
    assert set(shown(page, "case")) == {"slow"}
    page.fill("[name=search]", "512")
    assert shown(page, "features") == ["512"]
    assert "1 of" in page.inner_text("[data-count]")
    page.click("[data-filters] [type=reset]")
    until(page, "document.querySelector('[data-count]').textContent.startsWith('12 ')")
    page.select_option("[name=phase]", "backward")
    until(page, "!document.querySelector('[data-packed=rows]')")
    until(page, "document.querySelector('[data-count]').textContent.includes('of 72 ')")
    assert set(shown(page, "phase")) == {"backward"}
    page.select_option("[name=phase]", "")
    assert len(shown(page, "phase")) == 12 * 6


def test_verdicts_are_told_by_word_and_shape_too(report: Path, watch: Watch) -> None:
    page = watch().open(report)
    page.select_option("[name=phase]", "")
    until(page, "document.querySelector('[data-count]').textContent.startsWith('72 ')")
    signs = page.eval_on_selector_all(
        "[data-compared] .verdict",
        "all => all.map(each => [each.textContent, getComputedStyle(each, '::before').content])",
    )
    told = {(word, sign) for word, sign in signs}
    words, shapes = {word for word, _ in told}, {sign for _, sign in told}
    assert len(words) == len(shapes) == len(told) >= 3


def test_the_keyboard_alone_reaches_sorts_and_opens(report: Path, watch: Watch) -> None:
    opened = watch()
    page = opened.open(report)
    page.wait_for_selector("[data-figures='drawn']", state="attached")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "ratio":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    page.keyboard.press("Enter")
    assert page.get_attribute(heading(page, "ratio"), "aria-sort") == "ascending"
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "A":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-case-view][data-shown]")
    assert page.evaluate("document.activeElement.tagName") == "H3"
    assert opened.errors == []
