"""The pages as HTML: what they show, what they link to, and that nothing hostile gets through."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from stepmark.store.store import Store
from stepmark.web.app import make_app
from stepmark.web.assets import Assets
from stepmark.web.tokens import Tokens
from tests.support.served import CHANGE, HOSTILE, LAYER_CASE, NUM_LAYERS, run_id

HISTORY = f"/history?case={quote(LAYER_CASE)}"
PAGES = (
    "/",
    "/?text=layers",
    f"/runs/{run_id(3)}",
    f"/runs/{run_id(14)}",
    f"/runs/{run_id(20)}",
    f"/runs/{run_id(25)}",
    f"/runs/{run_id(25)}/report",
    "/compare",
    f"/compare?a=main&b={run_id(8)}",
    f"/compare?a=main&b={run_id(13)}",
    f"/compare?a={run_id(20)}&b={run_id(20)}",
    "/history",
    "/history?text=img",
    HISTORY,
    "/machines",
    "/api",
    "/nothing",
    f"/?text={quote(HOSTILE)}",
    f"/history?case={quote(HOSTILE)}",
    f"/runs/{quote(HOSTILE, safe='')}",
    f"/compare?a={quote(HOSTILE)}&b=latest",
    f"/?suite={quote(HOSTILE)}&machine={quote(HOSTILE)}",
)


class Elements(HTMLParser):
    """Every element with its attributes, and the text outside of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def elements(html: str) -> Elements:
    parser = Elements()
    parser.feed(html)
    return parser


@pytest.mark.parametrize("path", PAGES)
def test_no_page_holds_anything_that_runs(client: TestClient, path: str) -> None:
    for tag, attributes in elements(client.get(path).text).found:
        assert tag not in {"img", "iframe", "object", "embed", "style", "base"}, tag
        assert not any(name.startswith("on") or name == "style" for name in attributes), (tag, attributes)
        if tag == "script":
            assert attributes.get("type") == "application/json" or (attributes.get("src") or "").startswith(
                "/static/"
            )
        for name in ("href", "src", "action"):
            target = attributes.get(name)
            assert target is None or target.startswith(("/", "#", "data:,")), target
            assert target is None or not target.startswith("//")


@pytest.mark.parametrize(
    "path", ["/", f"/runs/{run_id(20)}", "/machines", "/history?text=img", f"/?text={quote(HOSTILE)}"]
)
def test_hostile_names_are_shown_as_text(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert HOSTILE not in answer.text
    page = elements(answer.text)
    shown = page.text + " ".join(str(value) for _, attributes in page.found for value in attributes.values())
    assert HOSTILE in shown


@pytest.mark.parametrize("path", PAGES)
def test_links_of_ours_lead_somewhere(client: TestClient, path: str) -> None:
    page = elements(client.get(path).text)
    links = {attributes["href"] for tag, attributes in page.found if tag == "a" and attributes.get("href")}
    for link in sorted(filter(None, links))[:25]:
        if link.startswith("/") and "export" not in link:
            assert client.get(link).status_code in {200, 400}, link


@pytest.mark.parametrize(
    "path",
    [
        "/",
        f"/runs/{run_id(3)}",
        "/runs/latest",
        "/compare",
        "/history",
        HISTORY,
        "/machines",
        "/api",
        "/nothing",
    ],
)
def test_pages_have_one_heading_and_labelled_fields(client: TestClient, path: str) -> None:
    html = client.get(path).text
    page = elements(html)
    tags = [tag for tag, _ in page.found]
    assert tags.count("h1") == 1
    levels = [0, *(int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag))]
    assert all(one - before <= 1 for before, one in pairwise(levels))
    assert tags.count("main") == 1
    assert "title" in tags
    tables = re.findall(r"<table.*?</table>", html, re.DOTALL)
    assert all("<caption" in table and 'scope="col"' in table for table in tables)


def test_the_list_can_be_searched_filtered_and_paged(client: TestClient) -> None:
    everything = client.get("/").text
    assert all(run_id(number) in everything for number in (0, 13, 14, 15, 20, 25))
    assert ">main</span>" in everything
    assert "within 1\u00a0min\u00a030\u00a0s</span>" in everything, "pauses and all"
    page = client.get("/", params={"suite": "layers", "machine": "bench", "limit": 5}).text
    assert f"{NUM_LAYERS} runs, 1 to 5 shown" in page
    (older,) = re.findall(r'rel="next" href="([^"]+)"', page)
    second = client.get(older.replace("&amp;", "&")).text
    assert "6 to 10 shown" in second
    assert 'rel="prev"' in second
    nothing = client.get("/", params={"text": "no such thing"}).text
    assert "No run fits" in nothing
    assert "<option selected>layers</option>" in page


def test_references_lead_to_the_run(client: TestClient) -> None:
    for reference, expected in (("latest", 25), ("main", 0), (run_id(3)[:10], 3)):
        answer = client.get(f"/runs/{reference}", follow_redirects=False)
        assert answer.headers["location"] == f"/runs/{run_id(expected)}"


def test_a_run_in_progress_says_how_far_it_is(client: TestClient) -> None:
    page = client.get(f"/runs/{run_id(25)}").text
    assert "In progress" in page
    assert f'data-live="{run_id(25)}"' in page
    assert "In progress" not in client.get(f"/runs/{run_id(3)}").text


def test_two_chosen_runs_are_compared_the_older_first(client: TestClient) -> None:
    answer = client.get(f"/compare?pick={run_id(8)}&pick={run_id(2)}", follow_redirects=False)
    assert answer.headers["location"] == f"/compare?a={run_id(2)}&b={run_id(8)}"


def test_a_comparison_says_what_it_may_and_may_not(client: TestClient) -> None:
    page = client.get(f"/compare?a=main&b={run_id(8)}").text
    assert "SLOWER" in page
    assert "not interleaved" in page
    refused = client.get(f"/compare?a=main&b={run_id(13)}").text
    assert "Must not be compared" in refused
    assert "host: bench in A, other in B" in refused
    assert 'value="machine"' in refused
    allowed = client.get(f"/compare?a=main&b={run_id(13)}&allow=machine").text
    assert "Compared all the same" in allowed
    assert "Must not be compared" not in allowed


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/runs/nope", 404, "there is no run"),
        ("/compare?a=nope&b=latest", 404, "there is no run"),
        ("/compare?a=latest&b=latest", 400, "compared with itself"),
        (f"/compare?a={run_id(0)}&b={run_id(14)}", 400, "no case in common"),
        ("/history?case=nope", 404, "no finished run has a case"),
        ("/?limit=many", 400, "limit"),
        ("/nothing", 404, "nothing at this address"),
    ],
)
def test_problems_are_pages(client: TestClient, path: str, status: int, said: str) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert said in elements(answer.text).text
    assert answer.headers["content-type"].startswith("text/html")


def test_the_history_marks_its_change_and_leads_to_both_sides(client: TestClient) -> None:
    page = client.get(f"{HISTORY}&machine=bench").text
    assert f'href="/runs/{run_id(CHANGE)}"' in page
    assert f"a={run_id(CHANGE - 1)}&amp;b={run_id(CHANGE)}" in page
    assert "forward" in page


def test_machines_are_listed(client: TestClient) -> None:
    page = elements(client.get("/machines").text).text
    assert "bench" in page
    assert "other" in page


def test_an_empty_store_has_pages_too(fresh: Store, assets: Assets) -> None:
    with TestClient(make_app(fresh, tokens=Tokens(), assets=assets), base_url="http://localhost") as client:
        for path in ("/", "/compare", "/history", "/machines", "/api"):
            assert client.get(path).status_code == 200, path
        assert "no runs in this store yet" in client.get("/").text
        assert client.get("/runs/latest").status_code == 404
