"""Tokens in a real browser and from real programs: logging in, uploading, and being kept out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from stepmark.interchange.run_bundle import to_bundle
from stepmark.store.store import Store
from stepmark.web.assets import all_assets
from stepmark.web.tokens import Tokens
from tests.browser.conftest import Watch
from tests.support.served import run_id, served_run
from tests.support.serving import Serving, serving

READ, WRITE = "read-read-read-read-read", "write-write-write-write"

expect.set_options(timeout=30_000)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Serving]:
    with Store.open(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        store.add_recording(served_run(1))
        with serving(store, assets=all_assets(), tokens=Tokens(read=READ, write=WRITE)) as made:
            yield made


def test_the_token_is_asked_for_once(watch: Watch, guarded: Serving) -> None:
    watched = watch()
    page = watched.page
    page.goto(f"{guarded.address}/runs/{run_id(1)}")
    expect(page.get_by_role("heading", name="This store needs a token")).to_be_visible()
    page.get_by_label("Token").fill("wrong-wrong-wrong-wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_have_text("That is not the token.")
    page.get_by_label("Token").fill(READ)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(f"{guarded.address}/runs/{run_id(1)}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("layers")
    assert page.evaluate("document.cookie") == ""
    page.goto(f"{guarded.address}/machines")
    page.get_by_role("button", name="Log out").click()
    page.goto(guarded.address)
    expect(page.get_by_role("heading", name="This store needs a token")).to_be_visible()
    refusals = [error for error in watched.errors if "401" not in error]
    assert refusals == []
    assert not any(READ in request for request in watched.requests)


def test_an_upload_appears_in_the_list(watch: Watch, guarded: Serving) -> None:
    bundle = to_bundle(served_run(2))
    uploads = f"{guarded.address}/api/runs"
    assert httpx.post(uploads, content=bundle).status_code == 401
    reading = {"Authorization": f"Bearer {READ}"}
    assert httpx.post(uploads, content=bundle, headers=reading).status_code == 403
    writing = {"Authorization": f"Bearer {WRITE}"}
    assert httpx.get(uploads, headers=writing).status_code == 401
    assert httpx.post(uploads, content=bundle, headers=writing).status_code == 201
    assert httpx.post(uploads, content=bundle, headers=writing).status_code == 200
    watched = watch(extra_http_headers=reading)
    watched.page.goto(guarded.address)
    expect(watched.page.get_by_role("link", name=run_id(2))).to_be_visible()
    expect(watched.page.get_by_role("row")).to_have_count(3)
    assert watched.errors == []


def test_a_page_of_another_site_gets_nothing(watch: Watch, guarded: Serving, tmp_path: Path) -> None:
    """Even with the cookie in the browser: it is not sent along, and no answer can be read."""
    watched = watch()
    page = watched.page
    page.goto(guarded.address)
    page.get_by_label("Token").fill(READ)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    page.goto("data:text/html,<title>elsewhere</title>")
    stolen = page.evaluate(
        "place => fetch(place + '/api/runs', {credentials: 'include'}).then(a => a.text(), () => 'refused')",
        guarded.address,
    )
    assert stolen == "refused"
