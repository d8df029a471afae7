"""Hosts: names of this machine and of others, origins, and paths that stay on this site."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.web.hosts import asks_for_loopback, host_of, is_loopback, local_path, same_origin
from tests.support.properties import steady


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "::1", "[::1]", "127.8.9.1"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.4", "bench", "localhost.evil.example", "", "127.0.0.1.evil.example"]
)
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("header", ["127.0.0.1:8377", "localhost", "localhost:1", "[::1]:8377"])
def test_requests_that_ask_for_this_machine(header: str) -> None:
    assert asks_for_loopback(header)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "evil.example",
        "evil.example:8377",
        "localhost@evil.example",
        "localhost/x",
        "localhost:port",
        "evil.example#localhost",
        "127.0.0.1.evil.example",
        "localhost evil.example",
        "[::1",
    ],
)
def test_requests_that_ask_for_another_name(header: str | None) -> None:
    assert not asks_for_loopback(header)


@steady
@given(st.text(max_size=30))
def test_any_header_is_answered_without_an_exception(header: str) -> None:
    host = host_of(header)
    assert host is None or host


def test_a_post_comes_from_our_own_pages_or_from_no_page() -> None:
    assert same_origin(None, "localhost:8377")
    assert same_origin("http://localhost:8377", "localhost:8377")
    assert not same_origin("http://evil.example", "localhost:8377")
    assert not same_origin("null", "localhost:8377")
    assert not same_origin("http://localhost:9999", "localhost:8377")
    assert not same_origin("file://localhost:8377", "localhost:8377")


@steady
@given(st.text("/\\abc:.@?=#%0 \t\n", max_size=20) | st.text(max_size=20))
def test_logging_in_never_leads_to_another_site(path: str) -> None:
    target = local_path(path)
    whole = urljoin("http://localhost:8377/login", target)
    assert urlsplit(whole).netloc == "localhost:8377"
    assert target.startswith("/")
    assert "\\" not in target
    assert "\n" not in target


def test_a_path_of_ours_is_kept() -> None:
    assert local_path("/runs/x?y=1&z=2") == "/runs/x?y=1&z=2"
