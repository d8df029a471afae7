"""Logging in and out, with a browser's cookies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from stepmark.store.store import Store
from stepmark.web.app import make_app
from stepmark.web.assets import Assets
from stepmark.web.tokens import Tokens

TOKEN = "read-read-read-read-read"


@pytest.fixture
def guarded(store: Store, assets: Assets) -> Iterator[TestClient]:
    app = make_app(store, tokens=Tokens(read=TOKEN), assets=assets)
    with TestClient(app, base_url="http://bench:8377", follow_redirects=False) as opened:
        yield opened


def test_there_and_back(guarded: TestClient) -> None:
    asked = guarded.get("/runs/latest?x=1")
    assert asked.status_code == 401
    assert 'name="next" value="/runs/latest?x=1"' in asked.text
    into = guarded.post("/login", data={"token": f" {TOKEN} ", "next": "/machines"})
    assert (into.status_code, into.headers["location"]) == (303, "/machines")
    cookie = into.headers["set-cookie"]
    assert TOKEN not in cookie
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}
    assert guarded.get("/machines").status_code == 200
    assert "Log out" in guarded.get("/machines").text
    out = guarded.post("/logout")
    assert out.status_code == 303
    assert guarded.get("/machines").status_code == 401


def test_a_wrong_token_is_told_and_not_repeated(guarded: TestClient) -> None:
    answer = guarded.post("/login", data={"token": "wrong-wrong-wrong-wrong", "next": "/"})
    assert answer.status_code == 401
    assert "not the token" in answer.text
    assert "wrong-wrong" not in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"]
)
def test_it_leads_to_no_other_site(guarded: TestClient, target: str) -> None:
    answer = guarded.post("/login", data={"token": TOKEN, "next": target})
    assert answer.headers["location"] == "/"


def test_behind_a_proxy_with_tls_the_cookie_is_for_tls_only(store: Store, assets: Assets) -> None:
    app = make_app(store, tokens=Tokens(read=TOKEN), assets=assets)
    with TestClient(app, base_url="https://bench.example", follow_redirects=False) as client:
        assert "secure" in client.post("/login", data={"token": TOKEN}).headers["set-cookie"].lower()


def test_a_huge_form_is_refused(guarded: TestClient) -> None:
    assert guarded.post("/login", data={"token": "x" * 10_000}).status_code == 413


def test_without_a_token_there_is_nothing_to_log_in_to(client: TestClient) -> None:
    answer = client.get("/login?next=/machines", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/machines")
    assert "Log out" not in client.get("/").text


def test_a_form_that_is_too_large_is_told_what_it_may_have(guarded: TestClient) -> None:
    for size in (9000, 9_000_000):
        answer = guarded.post("/login", data={"token": "x" * size})
        assert answer.status_code == 413
        assert "this form may have 8.0 KiB" in answer.text.replace("\u00a0", " ")
