"""A store with runs of all kinds, and the application over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from stepmark.keeping import refresh_all
from stepmark.store.store import Store
from stepmark.web.app import make_app
from stepmark.web.assets import Assets
from stepmark.web.tokens import Tokens
from tests.support.served import STAND_INS, fill

LOCAL = "http://localhost:8377"


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """URL of a store that no test writes to."""
    url = f"sqlite:///{tmp_path_factory.mktemp('served') / 'runs.db'}"
    with Store.open(url) as store:
        fill(store)
        refresh_all(store)
    return url


@pytest.fixture
def store(filled: str) -> Iterator[Store]:
    with Store.open(filled) as opened:
        yield opened


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store.open(f"sqlite:///{tmp_path / 'fresh.db'}") as opened:
        yield opened


@pytest.fixture(scope="session")
def assets() -> Assets:
    """Small files in the place of the chart library."""
    return Assets(STAND_INS)


@pytest.fixture
def client(store: Store, assets: Assets) -> Iterator[TestClient]:
    """Without a token, on this machine."""
    with TestClient(make_app(store, tokens=Tokens(), assets=assets), base_url=LOCAL) as opened:
        yield opened
