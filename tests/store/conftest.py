"""The databases that queries are tested on: SQLite, and PostgreSQL where a server can be started."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine, text

from stepmark.store.store import Store
from tests.store.postgresql import server, why_not


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """A server for all tests of the session."""
    if reason := why_not():
        pytest.skip(reason)
    with server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A new store in every database there is."""
    url = "sqlite://"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql_url")
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(text("DROP SCHEMA public CASCADE"))
            connection.execute(text("CREATE SCHEMA public"))
        engine.dispose()
    with Store.open(url) as opened:
        yield opened
