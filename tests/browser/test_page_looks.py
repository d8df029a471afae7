"""How a report looks: on a phone, in the dark, printed, and with names that are traps."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize

from tests.browser.conftest import PHONE, Watch, until
from tests.support.whole_runs import HOSTILE

pytestmark = pytest.mark.process
PAPER = ViewportSize(width=718, height=1000)
"""A4 without its margins, in pixels."""
DRAWN = "[data-report][data-figures='drawn']"
CONTRAST = """() => {
  const channel = byte => {
    const value = byte / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const parse = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const weak = new Set();
  for (const element of document.querySelectorAll("main *, header *")) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || element.closest("svg") || !element.checkVisibility?.()) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const words = element.textContent.trim().slice(0, 30);
    if (ratio < 4.5) weak.add(`${element.tagName}.${element.className}: ${ratio.toFixed(2)} ${words}`);
  }
  return [...weak];
}"""
"""Texts whose contrast with what lies behind them is below 4.5:1."""


def sideways(page: Page) -> int:
    """Pixels that the page is wider than the screen."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.mark.parametrize("anchor", ["", "#case-2"])
def test_a_phone_never_scrolls_sideways(report: Path, watch: Watch, anchor: str) -> None:
    opened = watch(viewport=PHONE, is_mobile=True, has_touch=True)
    page = opened.open(report, anchor)
    page.wait_for_selector(DRAWN, state="attached")
    if anchor:
        page.wait_for_selector("[data-case-view][data-shown]")
    assert sideways(page) <= 0
    assert page.evaluate("innerWidth") == PHONE["width"]
    assert opened.errors == []


def test_a_phone_never_scrolls_sideways_with_long_names(hostile_report: Path, watch: Watch) -> None:
    page = watch(viewport=PHONE, is_mobile=True).open(hostile_report)
    page.wait_for_selector(DRAWN, state="attached")
    assert sideways(page) <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_in_light_and_dark(report: Path, watch: Watch, scheme: str) -> None:
    page = watch(color_scheme=scheme).open(report, "#case-3")
    page.wait_for_selector("[data-case-view][data-shown]")
    assert page.evaluate(CONTRAST) == []


def test_the_system_decides_on_dark_and_the_switch_overrules_it(report: Path, watch: Watch) -> None:
    opened = watch(color_scheme="dark")
    page = opened.open(report)
    page.wait_for_selector(DRAWN, state="attached")
    ground = "getComputedStyle(document.body).backgroundColor"
    text = "getComputedStyle(document.querySelector('[data-figure] svg text')).fill"
    dark, label = page.evaluate(ground), page.evaluate(text)
    page.click("[data-theme-switch]")
    assert page.evaluate(ground) == "rgb(255, 255, 255)" != dark
    until(page, f"label => {text} !== label", label)
    assert page.inner_text("[data-theme-switch]") == "Dark"
    page.click("[data-theme-switch]")
    assert page.evaluate(ground) == dark
    assert opened.errors == []


def test_hostile_names_are_text_in_page_figure_and_tooltip(hostile_report: Path, watch: Watch) -> None:
    opened = watch(offline=True)
    page = opened.open(hostile_report)
    asked: list[str] = []
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    page.wait_for_selector(DRAWN, state="attached")
    assert HOSTILE in page.inner_text("h1")
    assert HOSTILE in page.inner_text("[data-compared]")
    page.locator("[data-figure] svg .mark-symbol path").first.hover()
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert HOSTILE in page.inner_text("#vg-tooltip-element")
    page.goto(page.url + "#case-2")
    page.wait_for_selector("[data-case-view][data-shown]")
    assert HOSTILE in page.inner_text("[data-case-view]")
    page.goto(page.url.partition("#")[0] + "#case-3")
    until(page, "document.querySelector('[data-case-view]').innerText.includes('ValueError')")
    assert page.locator("img").count() == 0
    assert asked == []
    assert opened.errors == []


def test_print_shows_content_and_no_controls(report: Path, watch: Watch) -> None:
    page = watch(color_scheme="dark").open(report)
    page.wait_for_selector(DRAWN, state="attached")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.is_visible("header")
    assert not page.is_visible("[data-filters]")
    assert page.is_visible("[data-figure] svg")
    page.set_viewport_size(PAPER)
    tables = "[...document.querySelectorAll('table')].map(each => each.scrollWidth)"
    assert max(page.evaluate(tables)) <= PAPER["width"]
