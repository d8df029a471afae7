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


@pytest.fixture
def empty_url(postgresql_url: str) -> str:
    """The same server, with nothing in its database."""
    engine = create_engine(postgresql_url)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return postgresql_url


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A new store in every database there is."""
    url = request.getfixturevalue("empty_url") if request.param == "postgresql" else "sqlite://"
    with Store.open(url) as opened:
        yield opened
