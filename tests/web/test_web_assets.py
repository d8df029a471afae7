"""Assets: names that change with their content, kept forever, compressed for those who can."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from stepmark.web.assets import FOREVER, Assets, make_asset, own_texts
from tests.support.properties import steady


@steady
@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_another_content_has_another_name(one: str, other: str) -> None:
    assert (make_asset("a.js", one).name == make_asset("a.js", other).name) == (one == other)


def test_they_are_served_from_memory_under_their_names(client: TestClient, assets: Assets) -> None:
    for name in own_texts():
        path = assets.path(name)
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == FOREVER
        assert answer.text == own_texts()[name]
        plain = client.get(path, headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.content == answer.content
    assert client.get(assets.path("web.css")).headers["content-type"].startswith("text/css")


def test_other_names_are_not_found(client: TestClient) -> None:
    for name in ("web.css", "web.000000000000.css", "..%2fapp.py", "%2e%2e/app.py"):
        assert client.get(f"/static/{name}").status_code == 404


def test_the_own_script_makes_no_html_from_text() -> None:
    script = own_texts()["web.js"]
    assert "innerHTML" not in script
    assert "eval(" not in script
