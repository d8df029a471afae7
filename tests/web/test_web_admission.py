"""Who gets in: names, origins and tokens, on every path; and the headers of every answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from stepmark.store.store import Store
from stepmark.web.app import make_app
from stepmark.web.assets import Assets
from stepmark.web.gate import COOKIE
from stepmark.web.headers import HEADERS
from stepmark.web.tokens import Tokens, session_of
from tests.support.served import run_id

READ, WRITE = "read-read-read-read-read", "write-write-write-write"
PATHS = (
    "/",
    "/runs/latest",
    "/runs/latest/report",
    "/compare",
    "/history",
    "/machines",
    "/api",
    "/api/openapi.json",
    "/api/runs",
    "/api/runs/latest",
    "/api/runs/latest/progress",
    "/api/runs/latest/samples",
    "/api/runs/latest/export",
    "/api/compare",
    "/api/cases",
    "/api/history",
    "/api/machines",
    "/api/baselines",
    "/api/suites",
    "/api/branches",
)


@pytest.fixture
def guarded(store: Store, assets: Assets) -> Iterator[TestClient]:
    """With tokens, under the name of a machine in a network."""
    app = make_app(store, tokens=Tokens(read=READ, write=WRITE), assets=assets)
    with TestClient(app, base_url="http://bench:8377") as opened:
        yield opened


def test_the_list_of_paths_here_is_whole(guarded: TestClient) -> None:
    known = {route.path for route in guarded.app.routes if isinstance(route, Route)}  # type: ignore[attr-defined]
    open_ones = {"/login", "/logout", "/static/{name}"}
    assert {path.replace("latest", "{run}") for path in PATHS} == known - open_ones


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_shown_without_the_token(guarded: TestClient, path: str) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer wrong-wrong-wrong-wrong"},
        {"Authorization": f"Bearer {WRITE}"},
        {"Authorization": READ},
        {"Cookie": f"{COOKIE}={READ}"},
        {"Cookie": f"{COOKIE}=x"},
    ):
        answer = guarded.get(path, headers=headers)
        assert answer.status_code == 401, headers
        assert "bench" not in answer.text.replace("http://bench", "")
        if path.startswith("/api/"):
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert answer.headers["content-type"] == "application/problem+json"
        else:
            assert 'type="password"' in answer.text


@pytest.mark.parametrize("path", ["/", "/api/runs", f"/runs/{run_id(3)}"])
def test_the_token_opens_by_header_and_by_cookie_and_never_by_address(guarded: TestClient, path: str) -> None:
    assert guarded.get(path, headers={"Authorization": f"Bearer {READ}"}).status_code == 200
    assert guarded.get(path, headers={"Cookie": f"{COOKIE}={session_of(READ)}"}).status_code == 200
    assert guarded.get(path, params={"token": READ}).status_code == 401


@pytest.mark.parametrize("path", [*PATHS, "/login", "/nothing", "/api/nothing", "/static/nothing"])
def test_every_answer_has_the_strict_headers(client: TestClient, guarded: TestClient, path: str) -> None:
    for answer in (client.get(path), guarded.get(path), client.post(path), client.request("BREW", path)):
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "cache-control" in answer.headers


def test_a_mistake_of_ours_is_a_clean_500_with_headers(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(Store, "baselines", fail)
    for path, kind in (("/", "text/html"), ("/api/baselines", "application/problem+json")):
        answer = client.get(path)
        assert answer.status_code == 500
        assert answer.headers["content-type"].startswith(kind)
        assert "secret detail" not in answer.text
        assert answer.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8377", "localhost.evil.example", "bench:8377", ""]
)
def test_without_a_token_other_names_are_refused(client: TestClient, host: str) -> None:
    """A site that was bound to 127.0.0.1 by its owner asks by its own name."""
    for path in ("/", "/api/runs", "/static/x", "/login"):
        assert client.get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost:8377", "127.0.0.1:8377", "[::1]:8377", "localhost"])
def test_this_machine_may_be_called_by_its_names(client: TestClient, host: str) -> None:
    assert client.get("/api/suites", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_pages_of_other_sites_cannot_post(guarded: TestClient, headers: dict[str, str]) -> None:
    write = {"Authorization": f"Bearer {WRITE}", **headers}
    assert guarded.post("/api/runs", headers=write, content=b"x").status_code == 403
    assert guarded.post("/login", headers=headers, data={"token": READ}).status_code == 403
    assert guarded.post("/logout", headers=headers).status_code == 403


def test_only_get_and_the_few_posts_are_possible(client: TestClient) -> None:
    for path in ("/", "/api/machines", "/runs/latest"):
        answer = client.delete(path)
        assert answer.status_code == 405
        assert client.post(path).status_code == 405
