"""The served application in a real browser: lists, reports, comparisons, histories, hostile names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from stepmark.keeping import refresh_all
from stepmark.store.store import Store
from stepmark.web.assets import Assets, all_assets
from tests.browser.conftest import DESKTOP, PHONE, Watch
from tests.support.served import HOSTILE, LAYER_CASE, NUM_LAYERS, fill, run_id
from tests.support.serving import Serving, serving

HISTORY = f"/history?case={quote(LAYER_CASE)}"
PAGES = (
    *("/", f"/runs/{run_id(3)}", f"/runs/{run_id(14)}", f"/runs/{run_id(20)}", "/compare"),
    *(f"/compare?a=main&b={run_id(8)}&phases=true", f"/compare?a=main&b={run_id(13)}", "/history", HISTORY),
    *("/machines", "/api"),
)

expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def assets() -> Assets:
    return all_assets()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, assets: Assets) -> Iterator[Serving]:
    url = f"sqlite:///{tmp_path_factory.mktemp('browser') / 'runs.db'}"
    with Store.open(url) as store:
        fill(store)
        refresh_all(store)
        with serving(store, assets=assets) as made:
            yield made


def sideways(page: Page) -> int:
    found: int = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return found


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_pages_fit_and_nothing_goes_wrong(
    watch: Watch, served: Serving, path: str, viewport: dict[str, int]
) -> None:
    watched = watch(viewport=viewport)
    page = watched.page
    page.goto(served.address + path)
    page.wait_for_load_state("networkidle")
    assert sideways(page) <= 0
    assert watched.errors == []
    assert all(request.startswith(served.address) for request in watched.requests)


def test_runs_are_searched_filtered_and_opened(watch: Watch, served: Serving) -> None:
    watched = watch()
    page = watched.page
    page.goto(served.address)
    expect(page.get_by_role("row")).to_have_count(1 + NUM_LAYERS + 5)
    page.get_by_label("Suite").select_option("layers")
    page.get_by_label("Machine").select_option("other")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page.get_by_text("feature/x").last).to_be_visible()
    page.get_by_role("link", name="Show all").click()
    page.get_by_label("Search").fill("sweep")
    page.get_by_label("Search").press("Enter")
    expect(page.get_by_role("row")).to_have_count(2)
    page.goto(f"{served.address}/?since=2026-01-18&until=2026-01-19")
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("link", name=run_id(3)).click()
    expect(page).to_have_url(f"{served.address}/runs/{run_id(3)}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("layers")
    assert watched.errors == []


def test_the_report_is_drawn(watch: Watch, served: Serving) -> None:
    watched = watch()
    page = watched.page
    page.goto(f"{served.address}/runs/{run_id(14)}")
    expect(page.locator("[data-report]")).to_have_attribute("data-figures", "drawn")
    plots = page.locator("[data-figure]")
    assert plots.count() > 0
    assert page.locator("[data-figure].drawn svg").count() == plots.count()
    assert watched.errors == []


def test_two_runs_are_chosen_and_compared(watch: Watch, served: Serving) -> None:
    watched = watch()
    page = watched.page
    page.goto(served.address)
    button = page.locator("[data-two]")
    expect(button).to_be_disabled()
    page.get_by_label(f"Compare run {run_id(8)}").check()
    expect(button).to_have_text("Choose one more to compare")
    page.get_by_label(f"Compare run {run_id(2)}").check()
    expect(page.get_by_label(f"Compare run {run_id(1)}")).to_be_disabled()
    button.click()
    expect(page).to_have_url(f"{served.address}/compare?a={run_id(2)}&b={run_id(8)}")
    expect(page.get_by_role("cell", name="SLOWER")).to_have_count(2)
    page.goto(f"{served.address}/compare?a=main&b={run_id(13)}")
    expect(page.get_by_role("heading", name="Must not be compared")).to_be_visible()
    page.get_by_label("allow another machine").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="Compared all the same")).to_be_visible()
    assert watched.errors == []


def test_the_history_is_drawn_and_leads_to_the_change(watch: Watch, served: Serving) -> None:
    watched = watch()
    page = watched.page
    page.goto(f"{served.address}/history")
    page.get_by_label("Find a case").fill("fused 512 layers")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name=LAYER_CASE).click()
    page.wait_for_selector("[data-figure].drawn svg")
    page.locator("select[name=machine]").select_option("bench")
    page.get_by_role("button", name="Show").click()
    page.wait_for_selector("[data-figure].drawn svg")
    page.get_by_role("link", name="compare with the run before").click()
    expect(page.get_by_role("cell", name=re.compile("SLOWER"))).to_have_count(2)
    assert watched.errors == []


def test_the_keyboard_alone_is_enough(watch: Watch, served: Serving) -> None:
    page = watch().page
    page.goto(served.address)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.type("sweep")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row")).to_have_count(2)


@pytest.mark.parametrize(
    "path", ["/", f"/runs/{run_id(20)}", "/machines", f"/?text={quote(HOSTILE)}", "/history?text=img"]
)
def test_hostile_names_are_only_text(watch: Watch, served: Serving, path: str) -> None:
    watched = watch()
    page = watched.page
    page.on("dialog", lambda dialog: watched.errors.append(f"dialog: {dialog.message}"))
    page.goto(served.address + path)
    page.wait_for_load_state("networkidle")
    if path.startswith("/runs/"):
        expect(page.locator("[data-report]")).to_have_attribute("data-figures", "drawn")
        for mark in page.locator("[data-figure] svg path[aria-label]").all()[:5]:
            mark.hover(force=True)
    expect(page.locator("img")).to_have_count(0)
    assert HOSTILE in page.content().replace("&lt;", "<").replace("&gt;", ">")
    assert watched.errors == []


def test_the_chosen_colours_stay(watch: Watch, served: Serving) -> None:
    page = watch(color_scheme="light").page
    page.goto(served.address)
    page.locator("[data-theme-switch]").click()
    page.get_by_role("link", name="Machines").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
