"""The API: every route documented, every answer as its schema says, and right."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
from jsonschema import Draft202012Validator
from starlette.routing import Route
from starlette.testclient import TestClient

from stepmark.errors import StoreError
from stepmark.interchange.run_bundle import from_bundle
from stepmark.store.store import Store
from tests.support.served import CHANGE, HOSTILE, LAYER_CASE, NUM_LAYERS, run_id

CASE = quote(LAYER_CASE)
CALLS = (
    "/api/runs",
    "/api/runs?text=layers&suite=layers&machine=bench&branch=main&status=complete&limit=3&offset=1",
    f"/api/runs/{run_id(3)}",
    "/api/runs/latest",
    f"/api/runs/{run_id(20)}",
    "/api/runs/latest/progress",
    f"/api/runs/{run_id(3)}/samples?case={CASE}",
    f"/api/compare?a=main&b={run_id(8)}",
    f"/api/compare?a={run_id(0)}&b={run_id(13)}",
    "/api/cases",
    "/api/cases?text=fused",
    f"/api/history?case={CASE}",
    f"/api/history?case={CASE}&phase=forward&machine=other",
    "/api/machines",
    "/api/baselines",
    "/api/suites",
    "/api/branches",
)


@pytest.fixture
def document(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/api/openapi.json").json()
    return found


def validator(document: dict[str, Any], schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": document["components"]})


def operation_of(document: dict[str, Any], path: str) -> dict[str, Any]:
    for template, operations in document["paths"].items():
        parts, asked = template.split("/"), path.partition("?")[0].split("/")
        if len(parts) == len(asked) and all(
            a == b or a.startswith("{") for a, b in zip(parts, asked, strict=True)
        ):
            found: dict[str, Any] = operations["get"]
            return found
    raise AssertionError(path)


def test_every_route_is_in_the_document_and_nothing_else(
    client: TestClient, document: dict[str, Any]
) -> None:
    routes = {
        (route.path, method.lower())
        for route in client.app.routes  # type: ignore[attr-defined]
        if isinstance(route, Route) and route.path.startswith("/api/") and route.path != "/api/openapi.json"
        for method in (route.methods or set()) - {"HEAD"}
    }
    documented = {(path, method) for path, operations in document["paths"].items() for method in operations}
    assert documented == routes


def test_the_document_is_well_formed(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    names = [each["operationId"] for operations in document["paths"].values() for each in operations.values()]
    assert len(set(names)) == len(names)
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            parameters = operation.get("parameters", [])
            for parameter in parameters:
                Draft202012Validator.check_schema(parameter["schema"])
            inside = {part[1:-1] for part in path.split("/") if part.startswith("{")}
            assert inside == {each["name"] for each in parameters if each["in"] == "path"}


@pytest.mark.parametrize("path", CALLS)
def test_real_answers_satisfy_their_schemas(client: TestClient, document: dict[str, Any], path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    content = operation_of(document, path)["responses"]["200"]["content"]
    assert answer.headers["content-type"] in content
    validator(document, content["application/json"]["schema"]).validate(answer.json())
    assert b"<" not in answer.content


def test_every_operation_was_called(document: dict[str, Any]) -> None:
    called = {operation_of(document, path)["operationId"] for path in CALLS}
    every = {each["get"]["operationId"] for each in document["paths"].values()}
    assert every - called == {"exportRun"}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/runs/nope", 404),
        (f"/api/runs/latest~{'9' * 5000}", 404),
        ("/api/runs/2026", 404),
        ("/api/runs/nope/progress", 404),
        ("/api/runs/latest/samples?case=nope", 404),
        ("/api/runs/latest/samples", 400),
        ("/api/runs?limit=1000", 400),
        ("/api/runs?colour=red", 400),
        ("/api/runs?since=yesterday", 400),
        ("/api/compare?a=nope&b=latest", 404),
        ("/api/compare?a=latest&b=latest", 400),
        (f"/api/compare?a={run_id(0)}&b={run_id(1)}&margin=lots", 400),
        (f"/api/compare?a={run_id(0)}&b={run_id(1)}&allow=everything", 400),
        (f"/api/compare?a={run_id(0)}&b={run_id(14)}", 400),
        ("/api/history?case=nope", 404),
        (f"/api/history?case={CASE}&phase=nope", 404),
        ("/api/history", 400),
        (f"/api/runs/{run_id(0)}/export?format=pdf", 400),
        ("/api/nothing", 404),
    ],
)
def test_problems_are_documents_with_the_right_status(
    client: TestClient, document: dict[str, Any], path: str, status: int
) -> None:
    answer = client.get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], bool(problem["detail"])) == (status, True)
    validator(document, document["components"]["schemas"]["Problem"]).validate(problem)
    if path != "/api/nothing":
        assert str(status) in operation_of(document, path)["responses"]


def test_no_store_is_asked_for_a_zero_byte(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL refuses the question, and the server would say that its store is in trouble."""

    def refuses(_: Store, reference: str) -> str:
        raise StoreError(f"cannot be used: {reference!r}", remedy="")

    monkeypatch.setattr(Store, "resolve", refuses)
    assert client.get("/api/runs/latest").status_code == 503
    for path in ("/api/runs/%00", "/api/runs/a%00b/export", f"/api/compare?a={run_id(0)}%00"):
        assert 400 <= client.get(path).status_code < 500


def test_search_finds_what_the_store_finds(client: TestClient, store: Store) -> None:
    found = client.get("/api/runs", params={"suite": "layers", "machine": "bench", "limit": 200}).json()
    assert found["total"] == NUM_LAYERS
    assert [head["id"] for head in found["heads"]] == [
        run_id(number) for number in reversed(range(NUM_LAYERS))
    ]
    day = client.get("/api/runs", params={"since": "2026-01-18", "until": "2026-01-18"}).json()
    assert [head["id"] for head in day["heads"]] == [run_id(3)]
    assert client.get("/api/runs", params={"branch": "feature/x"}).json()["heads"][0]["machine"] == "other"
    assert client.get("/api/runs", params={"status": "running"}).json()["total"] == 1


def test_a_runs_verdicts_are_those_of_the_command_line(client: TestClient) -> None:
    found = client.get(f"/api/runs/{run_id(3)}").json()
    kinds = {each["id"]: [v["kind"] for v in each["judgement"]["verdicts"][:1]] for each in found["cases"]}
    assert kinds[LAYER_CASE] == ["FASTER"]


def test_samples_are_the_stored_ones(client: TestClient, store: Store) -> None:
    found = client.get(f"/api/runs/{run_id(3)}/samples", params={"case": LAYER_CASE}).json()
    recording = store.load(run_id(3))
    launches = {series["launch"] for series in found["series"]} - {None}
    assert launches == {launch.number for launch in recording.launches}
    assert all(len(each["rounds"]) == len(each["nanoseconds"]) for each in found["series"])


def test_a_comparison_names_what_differs(client: TestClient) -> None:
    slower = client.get("/api/compare", params={"a": "main", "b": run_id(8)}).json()
    assert {case["phases"][0]["kind"] for case in slower["comparison"]["cases"]} == {"SLOWER"}
    assert slower["comparison"]["baseline"]["name"] == "main"
    refused = client.get("/api/compare", params={"a": "main", "b": run_id(13)}).json()
    assert refused["refused"]
    allowed = client.get("/api/compare", params={"a": "main", "b": run_id(13), "allow": "machine"}).json()
    assert not allowed["refused"]


def test_the_history_has_its_change(client: TestClient) -> None:
    found = client.get("/api/history", params={"case": LAYER_CASE, "machine": "bench"}).json()
    assert [change["run"] for change in found["changes"]] == [run_id(CHANGE)]
    assert 1.25 < found["changes"][0]["change"]["point"] < 1.35


@pytest.mark.parametrize("format", ["json", "jsonl", "csv", "markdown", "criterion", "bundle"])
def test_exports_are_files(client: TestClient, document: dict[str, Any], format: str) -> None:
    answer = client.get(f"/api/runs/{run_id(3)}/export", params={"format": format})
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="{run_id(3)}.')
    documented = document["paths"]["/api/runs/{run}/export"]["get"]["responses"]["200"]["content"]
    assert answer.headers["content-type"].partition(";")[0] in documented
    if format == "bundle":
        assert from_bundle(answer.content).run.id == run_id(3)


def test_hostile_names_are_harmless_in_json(client: TestClient) -> None:
    answer = client.get(f"/api/runs/{run_id(20)}")
    assert HOSTILE in answer.json()["run"]["suites"][0]["name"]
    assert b"<img" not in answer.content


def test_a_store_that_cannot_be_read_says_so(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from stepmark.errors import StoreError

    def broken(*_: object, **__: object) -> None:
        raise StoreError("runs.db is damaged", remedy="restore a copy")

    monkeypatch.setattr(Store, "search", broken)
    answer = client.get("/api/runs")
    assert (answer.status_code, answer.json()["detail"]) == (503, "runs.db is damaged")
    page = client.get("/")
    assert page.status_code == 503
    assert "restore a copy" in page.text


def test_jsonschema_would_notice(client: TestClient, document: dict[str, Any]) -> None:
    schema = operation_of(document, "/api/suites")["responses"]["200"]["content"]["application/json"][
        "schema"
    ]
    with pytest.raises(jsonschema.ValidationError):
        validator(document, schema).validate([{"name": 1}])
