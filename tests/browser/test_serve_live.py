"""A run that is being measured, watched in a real browser while another thread writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from stepmark.records.run import Recording, RunStatus
from stepmark.store.store import Store
from stepmark.web.assets import all_assets
from tests.browser.conftest import Watch
from tests.support.served import begin_running
from tests.support.serving import Serving, serving

expect.set_options(timeout=30_000)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[Serving, Recording]]:
    with Store.open(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        whole = begin_running(store, num_launches=1)
        with serving(store, assets=all_assets()) as made:
            yield made, whole


def test_the_page_follows_the_run_to_its_end(watch: Watch, live: tuple[Serving, Recording]) -> None:
    served, whole = live
    run, store = whole.run, served.store
    watched = watch()
    page = watched.page
    page.goto(f"{served.address}/runs/{run.id}")
    launches = page.locator('[data-progress="launches"]')
    expect(launches).to_have_text("1")
    expect(page.get_by_role("region", name="In progress")).to_be_visible()
    for launch in whole.launches[1:4]:
        store.append(run.id, launch)
    expect(launches).to_have_text("4")
    expect(page.locator("[data-stamp]")).to_have_attribute("data-stamp", re.compile("-4-"))
    expect(page.locator("#report")).to_contain_text("4 launches")
    for launch in whole.launches[4:]:
        store.append(run.id, launch)
    assert whole.run.load_start is not None
    store.finish(run.id, status=RunStatus.COMPLETE, finished=run.started + 60.0, load_end=run.load_start)
    expect(page.get_by_role("region", name="Complete", exact=True)).to_be_visible()
    expect(page.locator("[data-report]")).to_have_attribute("data-status", "complete")
    expect(page.locator("[data-report]")).to_have_attribute("data-figures", "drawn")
    assert page.locator("[data-figure].drawn svg").count() == page.locator("[data-figure]").count()
    assert watched.errors == []


def test_the_reader_keeps_the_place(watch: Watch, live: tuple[Serving, Recording]) -> None:
    served, whole = live
    page = watch().page
    page.goto(f"{served.address}/runs/{whole.run.id}")
    expect(page.locator("[data-report]")).to_have_attribute("data-figures", "drawn")
    heading = page.locator("#table-of-cases")
    page.evaluate(
        "document.getElementById('table-of-cases').scrollIntoView({block: 'start', behavior: 'instant'})"
    )
    page.evaluate("window.scrollBy({top: 20, behavior: 'instant'})")
    before = heading.evaluate("each => each.getBoundingClientRect().top")
    page.get_by_role("button", name="time").first.evaluate("each => each.click()")
    sorted_by = page.locator("th[aria-sort=ascending], th[aria-sort=descending]").first
    chosen = sorted_by.inner_text()
    for launch in whole.launches[1:4]:
        served.store.append(whole.run.id, launch)
    expect(page.locator("[data-stamp]")).to_have_attribute("data-stamp", re.compile("-4-"))
    expect(page.locator("[data-report]")).to_have_attribute("data-figures", "drawn")
    after = heading.evaluate("each => each.getBoundingClientRect().top")
    assert abs(after - before) <= 2
    assert sorted_by.inner_text() == chosen


def test_who_types_is_not_disturbed(watch: Watch, live: tuple[Serving, Recording]) -> None:
    served, whole = live
    page = watch().page
    page.goto(f"{served.address}/runs/{whole.run.id}")
    search = page.locator("#report").get_by_label("Search")
    search.fill("fus")
    served.store.append(whole.run.id, whole.launches[1])
    expect(page.locator('[data-progress="note"]')).to_contain_text("when you are done here")
    expect(search).to_be_focused()
    search.evaluate("each => each.blur()")
    expect(page.locator("[data-stamp]")).to_have_attribute("data-stamp", re.compile("-2-"))
    expect(search).to_have_value("fus")
