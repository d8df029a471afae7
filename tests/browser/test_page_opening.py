"""A report opened from disk with the network off: all there, no complaint, nothing asked for."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.browser.conftest import PHONE, Watch, until, write_report
from tests.support.whole_runs import whole_run

pytestmark = pytest.mark.process
DRAWN = "[data-report][data-figures='drawn']"
MOST = 3_000_000
"""Bytes of a report of 200 cases."""


def test_every_figure_is_drawn_without_network_or_error(report: Path, watch: Watch) -> None:
    opened = watch(offline=True)
    page = opened.open(report)
    page.wait_for_selector(DRAWN, state="attached")
    plots = page.locator("[data-figure]")
    assert plots.count() >= 1
    for place in range(plots.count()):
        plot = plots.nth(place)
        assert plot.locator("svg path").count() > 3
        assert plot.get_attribute("role") == "img"
        assert len(plot.get_attribute("aria-label") or "") > 20
    assert page.locator(".failed").count() == 0
    assert opened.errors == []
    assert opened.requests == []


def test_headings_descend_one_by_one(report: Path, watch: Watch) -> None:
    page = watch().open(report)
    levels = page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map(each => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_links_of_the_navigation_lead_to_their_parts(report: Path, watch: Watch) -> None:
    opened = watch()
    page = opened.open(report)
    page.wait_for_selector(DRAWN, state="attached")
    for link in page.locator("header nav a").all():
        target = link.get_attribute("href") or ""
        link.click()
        until(
            page,
            "id => { const top = document.getElementById(id).getBoundingClientRect().top;"
            " return top > -5 && top < innerHeight; }",
            target[1:],
        )
    assert opened.errors == []


@pytest.mark.long
def test_two_hundred_cases_stay_small_and_are_all_there(tmp_path: Path, watch: Watch) -> None:
    recording = whole_run(
        axes={"features": tuple(64 * each for each in range(1, 11)), "tokens": (1, 16, 256, 1024, 4096)},
        num_launches=10,
        num_rounds=60,
    )
    file = write_report(recording, tmp_path / "large.html")
    assert len(recording.run.cases) == 200
    assert file.stat().st_size < MOST
    opened = watch(offline=True, viewport=PHONE)
    page = opened.open(file)
    page.wait_for_selector(DRAWN, state="attached")
    assert page.locator("[data-compared] tbody tr[data-primary]").count() == 200
    page.goto(file.as_uri() + "#case-200")
    page.wait_for_selector("[data-case-view][data-shown='case-200']")
    assert re.search(
        r"every raw value of the phases|every raw value of the run", page.inner_text("#evidence + p")
    )
    assert opened.errors == []
