"""The access log: a line a request, in which no query and no header can be."""

from __future__ import annotations

import logging

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from stepmark.web.access_log import AccessLog


def hello(_: Request) -> Response:
    return PlainTextResponse("hello")


def test_a_line_has_method_path_status_and_time(caplog: pytest.LogCaptureFixture) -> None:
    client = TestClient(AccessLog(Starlette(routes=[Route("/hello", hello)])))
    with caplog.at_level(logging.INFO, logger="stepmark.web.access"):
        client.get("/hello?token=secret", headers={"Authorization": "Bearer secret", "Cookie": "a=secret"})
        client.get("/nothing%0Ainjected")
    first, second = (record.getMessage() for record in caplog.records if record.name == "stepmark.web.access")
    assert first.startswith("GET /hello 200 ")
    assert "secret" not in first
    assert second.startswith("GET /nothing\\ninjected 404 ")
